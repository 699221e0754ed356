// Runs the Worker with a fleet index that a test or a benchmark updates with made-up machines. In production, node
// objects do that.
import { fleetIndex, type Environment } from "../../../worker/env.ts";
import worker from "../../../worker/index.ts";
import type { MachineUpdate } from "../../../shared/fleet/summary.ts";

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
    if (new URL(request.url).pathname !== "/tell") return worker.fetch(request, env, context);
    const tellings = await request.json<MachineUpdate[]>();
    for (const telling of tellings) await fleetIndex(env).tell(telling);
    return new Response(null, { status: 204 });
  },
};
