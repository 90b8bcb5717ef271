import java.io.File;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jgroups.JChannel;
import org.jgroups.blocks.locking.LockService;

/**
 * A lock of the JGroups lock service: the client is a member of the group, and the coordinator, its
 * oldest member, decides (CENTRAL_LOCK).
 */
public final class JGroups implements Peer.Lock {
    private final Lock lock;

    /** Arguments: the file with the channel's stack, how many members there are, the lock's name. */
    public JGroups(String[] arguments) throws Exception {
        JChannel channel = new JChannel(new File(arguments[0]));
        channel.connect("peers");
        int members = Integer.parseInt(arguments[1]);
        while (channel.getView().size() < members) {
            Thread.sleep(20);
        }
        lock = new LockService(channel).getLock(arguments[2]);
    }

    /** Now and then the release of version 2.12 goes unheard: who waits asks once more. */
    @Override
    public void take() throws Exception {
        while (!lock.tryLock(500, TimeUnit.MILLISECONDS)) {
            System.err.println("waited in vain for 500 ms");
        }
    }

    @Override
    public void giveBack() {
        lock.unlock();
    }
}
