// Measures the Worker's status patches on the embedded apiserver: heartbeat times of four conditions. For each
// patch the apiserver reads and writes the whole Node, and so does the yardstick.
import { type Fleet, renewTime, type Requests, requestsBesideJson } from "./apiserver.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";

export const apiserverStatus: Benchmark = {
  ...budgetOf("apiserver-status"),
  measure: () => requestsBesideJson(patches),
};

const conditions = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
const secondsOnly = 19;

async function patches({ nodes, send }: Fleet): Promise<Requests> {
  const patch = (run: number) => {
    const lastHeartbeatTime = `${renewTime(run * 1000).slice(0, secondsOnly)}Z`;
    const status = { conditions: conditions.map((type) => ({ type, lastHeartbeatTime })) };
    const path = `/api/v1/nodes/${nodes[run % nodes.length]}/status`;
    return send("PATCH", path, { status }, "application/strategic-merge-patch+json");
  };
  return { send: patch, object: await patch(0) };
}
