// Asks for machines, page by page, as many as are wanted.
import { machinesSchema } from "../../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import { type Result, success } from "../../../shared/result.ts";
import { ask, askUnlessSame, readAnswer, type WorkerConnection } from "../client.ts";
import type { OperatorFault } from "../fault.ts";
import { TYPED_FILTER } from "./filter-flags.ts";
import type { FoundMachines, PartialMachine } from "./machine-list.ts";

export interface MachineWish {
  filter: Readonly<Record<string, string>>;
  sort: string;
  /** Comma-separated; undefined: all. */
  fields: string | undefined;
  limit: number;
}

export interface AskedMachines extends FoundMachines {
  /** Of the first page: it changes with anything in the fleet. */
  etag: string | undefined;
  /** It is the one that was passed: there are no machines in this answer. */
  isUnchanged: boolean;
}

/** The counts are those of the first page. `etag`: of the same wish before. */
export async function askMachines(
  connection: WorkerConnection,
  wish: MachineWish,
  etag?: string,
): Promise<Result<AskedMachines, OperatorFault>> {
  const first = await askUnlessSame(connection, requestOf(wish, 0, null), etag);
  if (!first.ok) return first;
  if (first.value === null)
    return success({ machines: [], counts: { matching: {}, fleet: {} }, etag, isUnchanged: true });
  const machines: PartialMachine[] = [];
  let sent = first.value.body;
  for (;;) {
    const page = readAnswer(machinesSchema, sent);
    if (!page.ok) return page;
    const { cursor, counts } = page.value;
    machines.push(...page.value.machines);
    if (cursor === null || machines.length >= wish.limit)
      return success({ machines, counts, etag: first.value.etag, isUnchanged: false });
    const next = await ask(connection, requestOf(wish, machines.length, cursor));
    if (!next.ok) return next;
    sent = next.value;
  }
}

function requestOf({ filter, sort, fields, limit }: MachineWish, had: number, cursor: string | null) {
  const query = new URLSearchParams({
    ...filter,
    sort,
    ...(fields !== undefined && { fields }),
    limit: String(Math.min(limit - had, PAGE_LIMITS.entries)),
    ...(cursor !== null && { cursor }),
  });
  const typed = { ...TYPED_FILTER, sort: "--sort", fields: "--fields" };
  return { method: "GET", path: `/v1/machines?${query.toString()}`, typed } as const;
}
