import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * A lock on one Redis server: SET with NX, PX and a random value, and a script that deletes it if
 * that value is still there. Whoever does not get it asks again after a millisecond.
 */
public final class Redis implements Peer.Lock {
    private static final String DELETE =
            "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
    private static final String RENEW =
            "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) "
                    + "end return 0";

    private final Connection connection;
    private final Connection renewing;
    private final String milliseconds;
    private final String name;
    private volatile String value;

    /** Arguments: host, port, how long the key lasts in milliseconds, the name of the lock. */
    public Redis(String[] arguments) throws Exception {
        connection = new Connection(arguments[0], Integer.parseInt(arguments[1]));
        renewing = new Connection(arguments[0], Integer.parseInt(arguments[1]));
        milliseconds = arguments[2];
        name = arguments[3];
        Thread alive = new Thread(() -> keepAlive(Long.parseLong(milliseconds) / 4));
        alive.setDaemon(true);
        alive.start();
    }

    @Override
    public void take() throws Exception {
        String wanted = UUID.randomUUID().toString();
        while (connection.ask("SET", name, wanted, "NX", "PX", milliseconds) == null) {
            Thread.sleep(1);
        }
        value = wanted;
    }

    @Override
    public void giveBack() throws Exception {
        String held = value;
        value = null;
        connection.ask("EVAL", DELETE, "1", name, held);
    }

    private void keepAlive(long pause) {
        try {
            while (true) {
                String held = value;
                if (held != null) {
                    renewing.ask("EVAL", RENEW, "1", name, held, milliseconds);
                }
                Thread.sleep(pause);
            }
        } catch (Exception why) {
            System.err.println("the key is not renewed: " + why);
        }
    }

    /** Requests and answers, one after the other. */
    private static final class Connection {
        private final OutputStream output;
        private final InputStream input;

        Connection(String host, int port) throws IOException {
            // It is closed with the process.
            Socket socket = new Socket(host, port);
            socket.setTcpNoDelay(true);
            output = socket.getOutputStream();
            input = new BufferedInputStream(socket.getInputStream());
        }

        /** The answer as text; null if there is none. */
        String ask(String... words) throws IOException {
            StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
            for (String word : words) {
                request.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
            }
            output.write(request.toString().getBytes(StandardCharsets.US_ASCII));
            output.flush();
            String line = line();
            switch (line.charAt(0)) {
                case '+', ':' -> {
                    return line.substring(1);
                }
                case '$' -> {
                    int length = Integer.parseInt(line.substring(1));
                    if (length < 0) {
                        return null;
                    }
                    String text = new String(input.readNBytes(length), StandardCharsets.UTF_8);
                    input.readNBytes(2);
                    return text;
                }
                default -> throw new IOException("Redis says: " + line);
            }
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = input.read(); next != '\r'; next = input.read()) {
                if (next < 0) {
                    throw new IOException("the connection is closed");
                }
                line.append((char) next);
            }
            input.read();
            return line.toString();
        }
    }
}
