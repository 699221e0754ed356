// What the commands about tokens, logs and origins print, as lists. Every text that came from a machine is made harmless
// to a terminal by what prints it.
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
} from "../../shared/protocol/operator-answers.ts";
import { painted, type TerminalScreen } from "./render/screen.ts";
import { listOf, type Shown, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";
import { harmless, wrapped } from "./render/text.ts";

/** A text that may be cut, and what is left of it. */
const TEXT = { rank: 0, least: 24 };

const TOKEN_COLUMNS: readonly TableColumn<ListedToken>[] = [
  { head: "ID", of: ({ id }) => id, rank: 0 },
  { head: "NAMES", of: ({ names, rejoin }) => names + (rejoin ? " (rejoin)" : ""), rank: 1 },
  { head: "STATE", of: ({ state }) => state, rank: 2 },
  {
    head: "USED",
    of: ({ used, reserved, uses }) => `${used}${reserved > 0 ? `+${reserved}` : ""}/${uses}`,
    rank: 3,
  },
  { head: "ROLES", of: ({ roles }) => (roles === undefined ? "" : roles.join(",") || "<none>"), rank: 6 },
  { head: "EXPIRES", of: ({ expiresAt }) => expiresAt, rank: 4 },
  { head: "BY", of: ({ createdBy }) => createdBy, rank: 5 },
];

export const tokenList = (tokens: readonly ListedToken[]): Shown =>
  listOf(tokens, () => TOKEN_COLUMNS, { nameOf: ({ id }) => id });

interface PendingLine {
  name: string;
  says: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
  address: string;
  askedAt: string;
}
const NOBODY = { thumbprint: "", machineID: "", systemUUID: "", address: "" };

const PENDING_COLUMNS: readonly TableColumn<PendingLine>[] = [
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "", of: ({ says }) => says, rank: 0 },
  { head: "KEY", of: ({ thumbprint }) => thumbprint, rank: 0 },
  { head: "MACHINE-ID", of: ({ machineID }) => machineID, rank: 3 },
  { head: "SYSTEM-UUID", of: ({ systemUUID }) => systemUUID, rank: 4 },
  { head: "ADDRESS", of: ({ address }) => address, rank: 1 },
  { head: "ASKED", of: ({ askedAt }) => askedAt, rank: 2 },
];

/** Two lines for a machine that waits: itself, and who has the name. */
export function pendingList(pending: readonly PendingMachine[]): Shown {
  const lines = pending.flatMap((machine): PendingLine[] => [
    { ...machine, says: "asks" },
    machine.pinned
      ? {
          ...machine.pinned,
          name: "",
          says: machine.pinned.hasReported ? "has it" : "has it, never reported",
          askedAt: "",
        }
      : { ...NOBODY, name: "", says: "free by now", askedAt: "" },
  ]);
  return listOf(lines, () => PENDING_COLUMNS, { nameOf: ({ name }) => name, records: pending });
}

type Sender = ListedSenders["senders"][number];
const SENDER_COLUMNS: readonly TableColumn<Sender>[] = [
  { head: "MACHINE-ID", of: ({ machineID }) => machineID, rank: 0 },
  { head: "BOOT-ID", of: ({ bootID }) => bootID, rank: 2 },
  { head: "PROCESS", of: ({ process }) => process, rank: 0 },
  { head: "SINCE", of: ({ since }) => since, rank: 1 },
  { head: "BELIEVED", of: ({ isBelieved }) => (isBelieved ? "yes" : "no"), rank: 0 },
];

/** A line about all of them, then each. */
export function senderList({ double, senders }: ListedSenders): Shown {
  const phase = double
    ? `${harmless(double.phase)} since ${double.since}; ${double.turns} turns, the last one at ${double.lastTurn}\n\n`
    : "";
  const list = listOf(senders, () => SENDER_COLUMNS, { nameOf: ({ process }) => process });
  return { ...list, text: (view) => phase + list.text(view) };
}

const ORIGIN_COLUMNS: readonly TableColumn<OriginUse>[] = [
  { head: "ORIGIN", of: ({ origin }) => origin, rank: 0 },
  { head: "CONFIGURED", of: ({ isConfigured }) => (isConfigured ? "yes" : "no"), rank: 1 },
  { head: "MACHINES", of: ({ machines }) => String(machines), rank: 0 },
  { head: "LAST USED", of: ({ lastUsedAt }) => lastUsedAt ?? "never", rank: 2 },
];

export const originList = (origins: readonly OriginUse[]): Shown =>
  listOf(origins, () => ORIGIN_COLUMNS, { nameOf: ({ origin }) => origin });

const ORIGIN_MACHINE_COLUMNS: readonly TableColumn<OriginMachine>[] = [
  { head: "NODE", of: ({ name }) => name, rank: 0 },
  { head: "LAST USED", of: ({ lastUsedAt }) => lastUsedAt, rank: 1 },
];

export const originMachineList = (machines: readonly OriginMachine[]): Shown =>
  listOf(machines, () => ORIGIN_MACHINE_COLUMNS, { nameOf: ({ name }) => name });

const AUDIT_COLUMNS: readonly TableColumn<AuditEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "WHO", of: ({ who }) => who, rank: 0, least: 12 },
  { head: "WHAT", of: ({ what }) => what, rank: 0 },
  { head: "TARGET", of: ({ target }) => target, rank: 0 },
  { head: "", of: ({ detail }) => detail, ...TEXT, rank: 1 },
];

/** Oldest first, as logs are read. */
export const auditList = (entries: readonly AuditEntry[]): Shown =>
  listOf(entries.toReversed(), () => AUDIT_COLUMNS, { nameOf: ({ target }) => target });

const HISTORY_COLUMNS: readonly TableColumn<HistoryEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 0 },
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "", of: ({ text }) => text, ...TEXT },
];

export const historyList = (entries: readonly HistoryEntry[]): Shown =>
  listOf(entries.toReversed(), () => HISTORY_COLUMNS, { nameOf: () => "" });

const CLUSTER_COLUMNS: readonly TableColumn<ClusterEvent>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 0 },
  { head: "", of: ({ text }) => text, ...TEXT },
];

export const clusterList = (entries: readonly ClusterEvent[]): Shown =>
  listOf(entries.toReversed(), () => CLUSTER_COLUMNS, { nameOf: () => "" });

const CHECK_PAINTS = { ok: "green", warning: "yellow", failed: "red" } as const;

/** What to do stands below what is not as it should be. */
export const readinessShown = ({ checks }: ReadinessAnswer): Shown =>
  textOf(({ screen }) => checkLines(checks, screen));

export function checkLines(checks: ReadinessAnswer["checks"], screen: TerminalScreen): string {
  const width = Math.max(0, ...checks.map(({ check }) => check.length));
  const indent = " ".repeat(width + 11);
  const room = Math.max((screen.columns ?? Infinity) - indent.length, 20);
  return checks
    .map(({ check, state, message, cure }) => {
      const known = Object.keys(CHECK_PAINTS).find((each) => each === state) as keyof typeof CHECK_PAINTS;
      const head = `${painted(harmless(state.padEnd(7)), CHECK_PAINTS[known], screen)}  ${harmless(check.padEnd(width))}  `;
      const body = wrapped(harmless(message), room).join(`\n${indent}`);
      const advice = cure === undefined ? [] : wrapped(`→ ${harmless(cure)}`, room);
      return [head + body, ...advice.map((line) => indent + line)].map((line) => `${line}\n`).join("");
    })
    .join("");
}
