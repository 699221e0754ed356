// What the operator's command line prints: tables for people. Every text that came from a machine is made harmless to
// a terminal.
import type {
  AuditEntry,
  ClusterEvent,
  HistoryEntry,
  ListedSenders,
  ListedToken,
  OriginMachine,
  OriginUse,
  PendingMachine,
  ReadinessAnswer,
  ShownNode,
} from "../../shared/protocol/operator-answers.ts";

export function tokenTable(tokens: readonly ListedToken[]): string {
  const rows = tokens.map(
    ({ id, names, state, used, reserved, uses, expiresAt, createdBy, rejoin, roles }) => [
      id,
      names + (rejoin ? " (rejoin)" : ""),
      state,
      `${used}${reserved > 0 ? `+${reserved}` : ""}/${uses}`,
      roles === undefined ? "" : roles.join(",") || "<none>",
      expiresAt,
      createdBy,
    ],
  );
  return table(["ID", "NAMES", "STATE", "USED", "ROLES", "EXPIRES", "BY"], rows);
}

/** Two lines for a machine that waits: itself, and who has the name. */
export function pendingTable(pending: readonly PendingMachine[]): string {
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

/** A line for each thing that is known. */
export function nodeLines(node: ShownNode): string {
  const { name, phase, isReady, silentSince, lastReportAt, conditions, thumbprint, runtime } = node;
  const wasReady = isReady ? "yes" : "no";
  const rows = [
    ["name", name],
    ["phase", phase ?? "never reported"],
    ["ready", silentSince ? `${wasReady} when it was heard of last` : wasReady],
    ...(silentSince ? [["silent since", silentSince]] : []),
    ["last report", lastReportAt ?? "not known here: see history, or the Node's lease"],
    ...conditions.map(({ type, status, message }) => [type, message ? `${status}: ${message}` : status]),
    ["runtime", runtime],
    ["key", thumbprint],
  ];
  return lines(rows);
}

/** A line about all of them, then each. */
export function sendersTable({ double, senders }: ListedSenders): string {
  const rows = senders.map(({ machineID, bootID, process, since, isBelieved }) => [
    machineID,
    bootID,
    process,
    since,
    isBelieved ? "yes" : "no",
  ]);
  const phase = double
    ? `${double.phase} since ${double.since}; ${double.turns} turns, the last one at ${double.lastTurn}\n\n`
    : "";
  return phase + table(["MACHINE-ID", "BOOT-ID", "PROCESS", "SINCE", "BELIEVED"], rows);
}

export function originTable(origins: readonly OriginUse[]): string {
  const rows = origins.map(({ origin, isConfigured, lastUsedAt, machines }) => [
    origin,
    isConfigured ? "yes" : "no",
    String(machines),
    lastUsedAt ?? "never",
  ]);
  return table(["ORIGIN", "CONFIGURED", "MACHINES", "LAST USED"], rows);
}

export function originMachineTable(machines: readonly OriginMachine[]): string {
  return table(
    ["NODE", "LAST USED"],
    machines.map(({ name, lastUsedAt }) => [name, lastUsedAt]),
  );
}

/** Oldest first, as logs are read. */
export function auditTable(entries: readonly AuditEntry[]): string {
  const rows = entries
    .toReversed()
    .map(({ at, who, what, target, detail }) => [at, who, what, target, detail]);
  return table(["WHEN", "WHO", "WHAT", "TARGET", ""], rows);
}

export function historyTable(entries: readonly HistoryEntry[]): string {
  return table(
    ["WHEN", "KIND", ""],
    entries.toReversed().map(({ at, kind, text }) => [at, kind, text]),
  );
}

export function clusterTable(entries: readonly ClusterEvent[]): string {
  return table(
    ["WHEN", ""],
    entries.toReversed().map(({ at, text }) => [at, text]),
  );
}

/** What to do stands below what is not as it should be. */
export function readinessLines({ checks }: ReadinessAnswer): string {
  const width = Math.max(...checks.map(({ check }) => check.length));
  return checks
    .map(({ check, state, message, cure }) => {
      const line = harmless(`${state.padEnd(7)}  ${check.padEnd(width)}  ${message}`);
      return cure === undefined ? `${line}\n` : `${line}\n${" ".repeat(width + 11)}→ ${harmless(cure)}\n`;
    })
    .join("");
}

function table(head: string[], rows: string[][]): string {
  return lines([head, ...rows]);
}

/** Each column as wide as its widest cell. */
function lines(rows: string[][]): string {
  const cells = rows.map((line) => line.map(harmless));
  const columns = Math.max(...cells.map((line) => line.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  return cells
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
