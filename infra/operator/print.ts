// What the operator's command line prints: tables for people. Every text that came from a machine is made harmless to
// a terminal.
import type { ListedToken } from "../../shared/protocol/join-tokens.ts";

/** As GET /v1/pending lists them. */
export interface ListedPending {
  name: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
  address: string;
  askedAt: string;
  pinned: {
    thumbprint: string;
    machineID: string;
    systemUUID: string;
    address: string;
    hasReported: boolean;
  } | null;
}

/** As GET /v1/nodes/{name}/clones lists them. */
export interface ListedSenders {
  double: { phase: string; since: string; lastTurn: string; turns: number } | null;
  senders: { machineID: string; bootID: string; startId: string; since: string; isBelieved: boolean }[];
}

/** As GET /v1/origins lists them. */
export interface ListedOrigin {
  origin: string;
  isConfigured: boolean;
  lastUsedAt: string | null;
  machines: number;
}

export interface ListedEntry {
  at: string;
  who?: string;
  what?: string;
  target?: string;
  detail?: string;
  kind?: string;
  text?: string;
}

export function tokenTable(tokens: readonly ListedToken[]): string {
  const rows = tokens.map(({ id, names, state, used, reserved, uses, expiresAt, createdBy, rejoin }) => [
    id,
    names + (rejoin ? " (rejoin)" : ""),
    state,
    `${used}${reserved > 0 ? `+${reserved}` : ""}/${uses}`,
    expiresAt,
    createdBy,
  ]);
  return table(["ID", "NAMES", "STATE", "USED", "EXPIRES", "BY"], rows);
}

/** Two lines for a machine that waits: itself, and who has the name. */
export function pendingTable(pending: readonly ListedPending[]): string {
  const rows = pending.flatMap(({ name, thumbprint, machineID, systemUUID, address, askedAt, pinned }) => [
    [name, "asks", thumbprint, machineID, systemUUID, address, askedAt],
    pinned
      ? [
          "",
          pinned.hasReported ? "has it" : "has it, never reported",
          pinned.thumbprint,
          pinned.machineID,
          pinned.systemUUID,
          pinned.address,
          "",
        ]
      : ["", "free by now", "", "", "", "", ""],
  ]);
  return table(["NODE", "", "KEY", "MACHINE-ID", "SYSTEM-UUID", "ADDRESS", "ASKED"], rows);
}

/** A line about all of them, then each. */
export function sendersTable({ double, senders }: ListedSenders): string {
  const rows = senders.map(({ machineID, bootID, startId, since, isBelieved }) => [
    machineID,
    bootID,
    startId,
    since,
    isBelieved ? "yes" : "no",
  ]);
  const phase = double
    ? `${double.phase} since ${double.since}; ${double.turns} turns, the last one at ${double.lastTurn}\n\n`
    : "";
  return phase + table(["MACHINE-ID", "BOOT-ID", "PROCESS", "SINCE", "BELIEVED"], rows);
}

export function originTable(origins: readonly ListedOrigin[]): string {
  const rows = origins.map(({ origin, isConfigured, lastUsedAt, machines }) => [
    origin,
    isConfigured ? "yes" : "no",
    String(machines),
    lastUsedAt ?? "never",
  ]);
  return table(["ORIGIN", "CONFIGURED", "MACHINES", "LAST USED"], rows);
}

export function originMachineTable(machines: readonly { name: string; lastUsedAt: string }[]): string {
  return table(
    ["NODE", "LAST USED"],
    machines.map(({ name, lastUsedAt }) => [name, lastUsedAt]),
  );
}

/** Oldest first, as logs are read. */
export function auditTable(entries: readonly ListedEntry[]): string {
  const rows = entries
    .toReversed()
    .map(({ at, who = "", what = "", target = "", detail = "" }) => [at, who, what, target, detail]);
  return table(["WHEN", "WHO", "WHAT", "TARGET", ""], rows);
}

export function historyTable(entries: readonly ListedEntry[]): string {
  return table(
    ["WHEN", "KIND", ""],
    entries.toReversed().map(({ at, kind = "", text = "" }) => [at, kind, text]),
  );
}

function table(head: string[], rows: string[][]): string {
  const lines = [head, ...rows].map((line) => line.map(harmless));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Control characters could move a terminal's cursor over what was printed before. */
function harmless(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, "\u{FFFD}");
}
