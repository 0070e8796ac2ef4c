import com.typesafe.config.*;
import java.io.*;
import java.nio.charset.StandardCharsets;

/** Reads names of documents from standard input and prints for each one line: its JSON, or ERROR and the reason. */
public class Oracle {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String name; (name = in.readLine()) != null; ) {
            String line;
            try {
                Config config = ConfigFactory.parseFile(new File(name)).resolve();
                line = config.root().render(ConfigRenderOptions.concise());
            } catch (Throwable e) {
                line = "ERROR " + e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).replace('\n', ' ');
            }
            out.println(line);
        }
    }
}
