import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;

import io.fabric8.kubernetes.client.server.mock.KubernetesMixedDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.dsl.HttpMethod;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;

/** An API server of Kubernetes that keeps what it is sent and tells watchers of it, until its input ends. Says its address on its output. */
public class ApiServer {
    public static void main(String[] arguments) throws Exception {
        HashMap responses = new HashMap();
        KubernetesMockServer server = new KubernetesMockServer(
            new Context(), new MockWebServer(), responses, new Applying(responses), false);
        server.init(InetAddress.getByName("127.0.0.1"), 0);
        System.out.println("listening at " + server.url("/"));
        while (System.in.read() >= 0) {}
        server.destroy();
        System.exit(0);
    }

    /** Server-side apply, which the mock's own dispatcher does not know: what is not there is created, what is there is merged. */
    static class Applying extends KubernetesMixedDispatcher {
        Applying(Map responses) {
            super(responses);
        }

        public MockResponse dispatch(RecordedRequest request) {
            String kind = request.getHeader("Content-Type");
            if (!"PATCH".equals(request.getMethod()) || kind == null || !kind.startsWith("application/apply-patch")) {
                return super.dispatch(request);
            }
            String path = request.getPath().split("\\?")[0];
            MockResponse there = super.dispatch(as(request, HttpMethod.GET, path, kind));
            if (there.code() == 404) {
                return super.dispatch(as(request, HttpMethod.POST, path.substring(0, path.lastIndexOf('/')), "application/json"));
            }
            return super.dispatch(as(request, HttpMethod.PATCH, path, "application/merge-patch+json"));
        }

        private static RecordedRequest as(RecordedRequest request, HttpMethod method, String path, String kind) {
            return new RecordedRequest(
                request.getHttpVersion(), method, path,
                request.getHeaders().newBuilder().setHeader("Content-Type", kind).build(), request.getBody());
        }
    }
}
