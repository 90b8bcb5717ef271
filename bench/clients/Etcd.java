import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The lock service of etcd, over the JSON gateway of one server. The client has one lease, which is
 * kept alive; if it dies, its locks are free when that is over.
 */
public final class Etcd implements Peer.Lock {
    private final String server;
    private final String lease;
    private final String name;
    private String key;

    /** Arguments: host and port, the time to live of the lease in seconds, the name of the lock. */
    public Etcd(String[] arguments) throws Exception {
        server = "http://" + arguments[0];
        long seconds = Long.parseLong(arguments[1]);
        name = Base64.getEncoder().encodeToString(arguments[2].getBytes(StandardCharsets.UTF_8));
        lease = field("ID", ask("lease/grant", "{\"TTL\":" + seconds + "}"));
        Thread alive = new Thread(() -> keepAlive(seconds * 1000 / 4));
        alive.setDaemon(true);
        alive.start();
    }

    @Override
    public void take() throws Exception {
        String body = "{\"name\":\"" + name + "\",\"lease\":\"" + lease + "\"}";
        key = field("key", ask("lock/lock", body));
    }

    @Override
    public void giveBack() throws Exception {
        ask("lock/unlock", "{\"key\":\"" + key + "\"}");
    }

    private void keepAlive(long pause) {
        try {
            while (true) {
                ask("lease/keepalive", "{\"ID\":\"" + lease + "\"}");
                Thread.sleep(pause);
            }
        } catch (Exception why) {
            System.err.println("the lease is not kept alive: " + why);
        }
    }

    private String ask(String path, String body) throws Exception {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create(String.join("/", server, "v3", path)).toURL().openConnection();
        connection.setRequestMethod("POST");
        connection.setDoOutput(true);
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        connection.setFixedLengthStreamingMode(bytes.length);
        try (OutputStream output = connection.getOutputStream()) {
            output.write(bytes);
        }
        if (connection.getResponseCode() != 200) {
            throw new IllegalStateException(path + " is answered " + connection.getResponseCode());
        }
        // Read to its end, the connection is used again.
        try (InputStream input = connection.getInputStream()) {
            return new String(input.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String field(String field, String json) {
        Matcher found = Pattern.compile("\"" + field + "\":\"([^\"]*)\"").matcher(json);
        if (!found.find()) {
            throw new IllegalStateException("no " + field + " in " + json);
        }
        return found.group(1);
    }
}
