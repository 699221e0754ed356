// Asks the fleet index for a turn before a Node is created, grows, or is written beyond the machine's own share, since
// all machines of a join token share the limits of these loads.
import type { Node } from "../../shared/kubernetes/types.ts";
import { type Environment, fleetIndex } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { NodeLoad, NodeRecordStore, NodeTurn } from "../storage/records.ts";
import { sizeOf } from "./budgets.ts";

export interface TurningMachine {
  records: NodeRecordStore;
  nowMs: () => number;
  random: () => number;
  /** Asks the fleet index for a turn; null without an answer in time. Never rejects. */
  nodeTurn: (load: NodeLoad) => Promise<NodeTurn | null>;
}

/** The time limit for the fleet index to give a turn. Without an answer, the next report asks again. */
export const TURN_DEADLINE_MS = 500;

/** Returns a function that asks the fleet index for a turn for a machine with this join token. */
export function nodeTurns(env: Environment, token: string): TurningMachine["nodeTurn"] {
  return (load) => {
    const ask = async () => fleetIndex(env).nodeTurn(token, load);
    // During a deploy the fleet index may have an earlier version, which has no such limits.
    const failed = (error: unknown) =>
      String(error).includes('not implement the method "nodeTurn"')
        ? { waitMs: 0, isGranted: true, limit: "" }
        : null;
    return withDeadline<NodeTurn | null>(TURN_DEADLINE_MS, ask, null, env.timer).catch(failed);
  };
}

/** A turn counts a Node's bytes and ROOM for the fields that the apiserver adds, rounded up to a multiple of STEP. */
const STEP = 4096;
const ROOM = 512;
/** The time for which an assigned turn is valid, since turns that are collected and used together would be a burst. */
export const TURN_GOOD_MS = 60_000;

/** Why a write waits. `waitMs`: the time until the turn; undefined if the fleet index did not answer. */
export interface WaitingTurn {
  message: string;
  waitMs?: number;
}

const stepsOf = (node: Node): number => {
  const { managedFields: _, ...metadata } = node.metadata ?? {};
  return STEP * Math.ceil((sizeOf({ ...node, metadata }) + ROOM) / STEP);
};

/**
 * Returns null if the Node may be written now, else why the write waits. `extraBytes`: the bytes of the write beyond
 * the machine's own share. A machine asks only for a new Node, for a Node that grows, and for extra bytes.
 */
export async function waitForTurn(
  { records, nowMs, random, nodeTurn }: TurningMachine,
  node: Node,
  extraBytes: number,
): Promise<WaitingTurn | null> {
  const { granted: stored, turn } = records.get("nodeBytes") ?? {};
  const known = records.get("node")?.node;
  const granted = stored ?? (known ? stepsOf(known) : 0);
  const bytes = Math.max(granted, stepsOf(node));
  if (bytes === granted && extraBytes === 0) return null;
  const isEnough = turn !== undefined && bytes <= turn.bytes && extraBytes <= turn.extraBytes;
  const inMs = turn ? turn.atMs - nowMs() : 0;
  if (isEnough && inMs > 0) return { message: turn.message, waitMs: inMs };
  const valid = turn?.isGranted && inMs > -TURN_GOOD_MS ? turn : null;
  if (isEnough && valid) {
    records.put("nodeBytes", { granted: bytes });
    return null;
  }
  // The bytes of a valid turn are not taken again, since a Node that grows with each report would use up the limit.
  const taken = valid ?? { bytes: granted, extraBytes: 0 };
  const more = Math.max(0, bytes - taken.bytes) + Math.max(0, extraBytes - taken.extraBytes);
  const answer = await nodeTurn({ nodes: granted === 0 && !valid ? 1 : 0, bytes: more });
  if (!answer) return { message: NO_ANSWER };
  const { isGranted, limit } = answer;
  // Machines that must ask again do so at different times.
  const waitMs = isGranted
    ? Math.max(answer.waitMs, valid ? inMs : 0)
    : Math.round(answer.waitMs * (0.5 + 0.5 * random()));
  if (isGranted && waitMs === 0) {
    if (bytes !== stored) records.put("nodeBytes", { granted: bytes });
    return null;
  }
  const message = limit
    ? `the limit of ${limit} is reached: its Node is written later`
    : (valid?.message ?? "");
  const assigned = {
    bytes: Math.max(bytes, taken.bytes),
    extraBytes: Math.max(extraBytes, taken.extraBytes),
    atMs: nowMs() + waitMs,
  };
  records.put("nodeBytes", { granted, turn: { ...assigned, isGranted, message } });
  return { message, waitMs };
}

const NO_ANSWER = "the fleet index does not answer: its Node is written later";
