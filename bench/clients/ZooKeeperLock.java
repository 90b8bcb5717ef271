import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * The lock recipe of ZooKeeper: everybody who wants the lock makes an ephemeral sequential node, the
 * first of them holds it, and each of the others watches the one before.
 */
public final class ZooKeeperLock implements Peer.Lock {
    private final ZooKeeper client;
    private final String directory;
    private String own;

    /** Arguments: host and port, the session's time-out in milliseconds, the name of the lock. */
    public ZooKeeperLock(String[] arguments) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        client = new ZooKeeper(arguments[0], Integer.parseInt(arguments[1]), event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        if (!connected.await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection with " + arguments[0]);
        }
        directory = "/" + arguments[2];
        try {
            client.create(directory, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    CreateMode.PERSISTENT);
        } catch (KeeperException.NodeExistsException others) {
            // Another client has made it.
        }
    }

    @Override
    public void take() throws Exception {
        own = client.create(directory + "/turn-", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE,
                CreateMode.EPHEMERAL_SEQUENTIAL);
        String name = own.substring(directory.length() + 1);
        while (true) {
            List<String> queue = client.getChildren(directory, false);
            Collections.sort(queue);
            int place = queue.indexOf(name);
            if (place == 0) {
                return;
            }
            if (place < 0) {
                throw new IllegalStateException("the session was lost while it waited");
            }
            CountDownLatch changed = new CountDownLatch(1);
            Stat before = client.exists(directory + "/" + queue.get(place - 1), event -> {
                // Of the connection it is told as well; that changes nothing for those before.
                if (event.getPath() != null) {
                    changed.countDown();
                }
            });
            if (before != null) {
                changed.await();
            }
        }
    }

    @Override
    public void giveBack() throws Exception {
        client.delete(own, -1);
    }
}
