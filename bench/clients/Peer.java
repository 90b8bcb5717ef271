import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * A client of another lock service in a process of its own, which does what it is told line by
 * line, as the clients of crates/bench do: "turn SECONDS" takes the lock and gives it back again and
 * again, "hold" takes it, "free" gives it back. It says "ready" when it has taken the lock once, and
 * ends with its input. In a file that all clients share it is written, under the lock, who had it
 * last, so that hand-overs from one to another can be counted.
 */
public final class Peer {
    /** One lock, as one client of a service has it. */
    public interface Lock {
        void take() throws Exception;

        void giveBack() throws Exception;
    }

    private static final PrintStream ANSWERS = System.out;
    private static final long ME = ProcessHandle.current().pid();
    private static FileChannel last;

    private Peer() {}

    /** Arguments: the class of the lock, the shared file, and what the constructor takes. */
    public static void main(String[] arguments) throws Exception {
        // Some services greet those who start them.
        System.setOut(System.err);
        last = FileChannel.open(Path.of(arguments[1]), StandardOpenOption.READ,
                StandardOpenOption.WRITE, StandardOpenOption.CREATE);
        String[] rest = Arrays.copyOfRange(arguments, 2, arguments.length);
        Class<?> kind = Class.forName(arguments[0]);
        Lock lock = (Lock) kind.getDeclaredConstructor(String[].class).newInstance((Object) rest);
        lock.take();
        lock.giveBack();
        say("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "turn" -> turn(lock, Double.parseDouble(words[1]));
                case "hold" -> {
                    lock.take();
                    say("held");
                }
                case "free" -> {
                    lock.giveBack();
                    say("freed");
                }
                default -> throw new IllegalArgumentException("not understood: '" + line + "'");
            }
        }
        // Threads of the service's client would go on.
        Runtime.getRuntime().halt(0);
    }

    /** Whether another had the lock last: from now on it is this one. Called under the lock. */
    private static boolean isHandover() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES);
        boolean isOther = last.read(bytes, 0) < Long.BYTES || bytes.getLong(0) != ME;
        if (isOther) {
            last.write(bytes.clear().putLong(ME).flip(), 0);
        }
        return isOther;
    }

    private static void turn(Lock lock, double seconds) throws Exception {
        long grants = 0;
        long handovers = 0;
        long length = (long) (seconds * 1e9);
        long start = System.nanoTime();
        while (System.nanoTime() - start < length) {
            lock.take();
            grants++;
            handovers += isHandover() ? 1 : 0;
            lock.giveBack();
        }
        say("turned " + grants + " " + (System.nanoTime() - start) + " " + handovers);
    }

    private static void say(String line) {
        ANSWERS.println(line);
        ANSWERS.flush();
    }
}
