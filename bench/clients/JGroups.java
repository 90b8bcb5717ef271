import java.io.File;
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

    @Override
    public void take() {
        lock.lock();
    }

    @Override
    public void giveBack() {
        lock.unlock();
    }
}
