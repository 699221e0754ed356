// Runs the Worker with a fleet index that a benchmark fills with made-up machines and transitions. In production,
// node objects send them. Everything else is the Worker itself. This file has no test of its own.
import "./never-busy.ts";
import type { FleetState } from "../../../shared/fleet/state.ts";
import type { MachineUpdate } from "../../../shared/fleet/summary.ts";
import { type Environment, fleetIndex } from "../../../worker/env.ts";
import worker, { IndexObject as RealIndexObject } from "../../../worker/index.ts";
import { createdMsOf, machineName, stateEntry, summaryOf } from "./made-up-fleet.ts";

export { ClusterObject, GatewayObject, NodeObject, RegistryObject } from "../../../worker/index.ts";

/** The labels of each machine in addition to rollcall's: as many as a Node of a managed cluster has. */
const MORE_LABELS = Object.fromEntries(
  Array.from({ length: 12 }, (_, index) => [`node.example.com/feature-${index}`, `enabled-${index}`]),
);

/**
 * The order of enrolment: machine numbers rise in steps of `step`. With 100,000 machines, `stepsToNext` steps reach
 * the next number.
 */
const ENROLMENT = { step: 7919, stepsToNext: 17_679 } as const;

function telling(index: number, version: number, state: FleetState, of: number): MachineUpdate {
  const createdMs = createdMsOf((index * ENROLMENT.stepsToNext) % of);
  const { labels, ...summary } = summaryOf(index, { state, createdMs });
  const other = state === "ready" ? "silent" : "ready";
  const entries = [stateEntry(version, other, state, summary.sinceMs + version)];
  return {
    name: machineName(index),
    generation: 1,
    version,
    summary: { ...summary, labels: { ...labels, ...MORE_LABELS } },
    entries,
  };
}

export class IndexObject extends RealIndexObject {
  #rowsWritten = 0;

  constructor(ctx: DurableObjectState, env: Environment) {
    const { sql } = ctx.storage;
    const exec = sql.exec.bind(sql);
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    super(ctx, env);
    const counted = (...args: Parameters<typeof exec>) => {
      for (const cursor of cursors.splice(0)) this.#rowsWritten += cursor.rowsWritten;
      const cursor = exec(...args);
      cursors.push(cursor);
      return cursor;
    };
    Object.defineProperty(sql, "exec", { value: counted });
  }

  /** Adds machines in the order of their enrolment, which is not the order of their names. */
  async fill(from: number, to: number, of: number): Promise<void> {
    for (let at = from; at < to; at++) {
      const index = (at * ENROLMENT.step) % of;
      await this.tell(telling(index, 1, index % 50 === 0 ? "silent" : "ready", of));
    }
  }

  rowsWritten(): number {
    return this.#rowsWritten;
  }
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const [, what, ...numbers] = new URL(request.url).pathname.split("/");
    const [from = 0, to = 0, of = 1] = numbers.map(Number);
    const index = fleetIndex(env) as unknown as DurableObjectStub<IndexObject>;
    if (what === "fill") await index.fill(from, to, of);
    else if (what === "transitions")
      // Each machine is updated to silent and to ready in turn, so that both states are equally frequent.
      for (let at = from; at < to; at++)
        await index.tell(telling(at % of, 2 + Math.floor(at / of), at % 2 === 0 ? "silent" : "ready", of));
    else if (what !== "rows") return worker.fetch(request, env, context);
    return Response.json(await index.rowsWritten());
  },
};
