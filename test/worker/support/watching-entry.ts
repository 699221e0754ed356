// Runs the Worker for a benchmark that starts the watch of Nodes and reads its state. In production, a node object
// starts the watch.
import { clusterObject, type Environment } from "../../../worker/env.ts";
import worker from "../../../worker/index.ts";

export {
  ClusterObject,
  GatewayObject,
  IndexObject,
  NodeObject,
  RegistryObject,
} from "../../../worker/index.ts";

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    if (new URL(request.url).pathname !== "/watch") return worker.fetch(request, env, context);
    const cluster = clusterObject(env);
    await cluster.watchNodes();
    return Response.json(await cluster.watchState());
  },
};
