import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

class Loop {
    public static void main(String[] args) throws Exception {
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create(args[0] + "/price")).build();
        for (int n = 1;; n++) {
            try {
                var response = client.send(request, BodyHandlers.ofString());
                if (response.statusCode() == 200) {
                    System.out.println(response.body());
                    return;
                }
                if (response.statusCode() < 500 || n == 5) {
                    throw new IllegalStateException("status " + response.statusCode());
                }
            } catch (IOException e) {
                if (n == 5) {
                    throw e;
                }
            }
            Thread.sleep(1000L << n - 1);
        }
    }
}
