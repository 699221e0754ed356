// Runs the Worker, which also reports the size of a machine's storage as the platform counts it, and keeps a short
// history of the fleet, which a short run fills. Everything else is the Worker itself, with its own clock and alarms.
// This file has no test of its own.
import "./never-busy.ts";
import { FLEET_HISTORY_LIMITS } from "../../../worker/fleet/machine-rows.ts";
import type { Environment } from "../../../worker/env.ts";
import worker, { NodeObject as RealNodeObject } from "../../../worker/index.ts";

export { ClusterObject, GatewayObject, IndexObject, RegistryObject } from "../../../worker/index.ts";

// The honest machines have about a hundred lines before the attack: less than their token's share beside eight others.
Object.assign(FLEET_HISTORY_LIMITS, { lines: 1000, prunedEvery: 50, linesADayOfToken: 200 });

export class NodeObject extends RealNodeObject {
  databaseBytes(): number {
    return this.ctx.storage.sql.databaseSize;
  }
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const [, name] = /^\/sized\/(.+)$/.exec(new URL(request.url).pathname) ?? [];
    if (name === undefined) return worker.fetch(request, env, context);
    const node = env.NODES.getByName(name) as unknown as DurableObjectStub<NodeObject>;
    return Response.json(await node.databaseBytes());
  },
};
