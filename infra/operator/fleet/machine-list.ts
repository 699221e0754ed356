// Renders machines as a list, the most urgent first, below a line of counts. Pure.
import { isWell, problemsText } from "../../../shared/fleet/well-conditions.ts";
import { FLEET_STATES, type FleetState } from "../../../shared/fleet/state.ts";
import { isInMaintenance, MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import { ageOf } from "../render/age.ts";
import { painted, type Paint, type TerminalScreen } from "../render/terminal.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";

/** A machine that has only the requested fields. */
export type PartialMachine = { [Field in keyof FleetMachine]?: FleetMachine[Field] | undefined };

export interface FoundMachines {
  machines: readonly PartialMachine[];
  counts: { matching: Record<string, number>; fleet: Record<string, number> };
}

const STATE_PAINTS: Readonly<Record<FleetState, Paint>> = {
  ready: "green",
  "not-ready": "red",
  silent: "red",
  "cluster-unreachable": "magenta",
  blocked: "yellow",
  pending: "cyan",
  revoked: "faint",
};

export const paintOf = (state: string | undefined): Paint | undefined =>
  (STATE_PAINTS as Record<string, Paint | undefined>)[state ?? ""];

interface MachineColumn extends TableColumn<PartialMachine> {
  /** The field of the machine that the column shows. */
  field: keyof FleetMachine;
  /** The further field that the column needs. */
  also?: keyof FleetMachine;
}

const internalIp = ({ addresses = [] }: PartialMachine) =>
  addresses.find(({ type }) => type === "InternalIP")?.address ?? "";

/** Returns the conditions that are not well, like `MemoryPressure,Ready=False`. `isOld`: names those of a last report. */
const offConditions = ({ conditions = [] }: PartialMachine, isOld: boolean) =>
  conditions
    .filter((condition) => !isWell(condition))
    .map(({ type, status }) => {
      const text = status === "True" ? type : `${type}=${status}`;
      return isOld && status !== "Unknown" ? `${text} (last report)` : text;
    })
    .join(",");

/** Returns the maintenance, and the reason; of a ready machine, its conditions that are not well. */
const whyOf = ({ why = "", state, conditions = [] }: PartialMachine) => {
  const problems = why || (state === "ready" ? problemsText(conditions) : "");
  return [maintenanceText(conditions), problems].filter((text) => text !== "").join("; ");
};

/** Returns `in maintenance until 2026-01-31T12:00:00Z, by alice: new disk`; "" if the machine is in no maintenance. */
export function maintenanceText(
  conditions: readonly { type: string; status: string; message?: string | undefined }[],
) {
  if (!isInMaintenance(conditions)) return "";
  const message = conditions.find(({ type }) => type === MAINTENANCE_IN_PROGRESS)?.message;
  return `in maintenance${message ? ` ${message}` : ""}`;
}

const wideColumns = (nowMs: number): readonly MachineColumn[] => [
  { field: "phase", head: "PHASE", of: ({ phase }) => phase ?? "", rank: 5, isWide: true },
  {
    field: "conditions",
    head: "CONDITIONS",
    of: (machine) => offConditions(machine, machine.state === "silent"),
    raw: (machine) => offConditions(machine, false),
    rank: 5,
    isWide: true,
  },
  {
    field: "created",
    head: "AGE",
    of: ({ created }) => ageOf(created, nowMs),
    raw: ({ created }) => created ?? "",
    rank: 7,
    isWide: true,
  },
  { field: "addresses", head: "INTERNAL-IP", of: internalIp, rank: 6, isWide: true },
  { field: "versions", head: "OS", of: ({ versions }) => versions?.os ?? "", rank: 9, isWide: true },
  {
    field: "versions",
    head: "KERNEL",
    of: ({ versions }) => versions?.kernel ?? "",
    rank: 10,
    isWide: true,
  },
  {
    field: "versions",
    head: "RUNTIME",
    of: ({ versions }) => versions?.runtime ?? "",
    rank: 8,
    isWide: true,
  },
  {
    field: "key",
    head: "KEY-USED",
    of: ({ key }) => (key ? String(key.isUsed) : ""),
    rank: 7,
    isWide: true,
  },
  {
    field: "labels",
    head: "LABELS",
    of: ({ labels = {} }) =>
      Object.entries(labels)
        .map((label) => label.join("="))
        .join(","),
    rank: 11,
    least: 20,
    isWide: true,
  },
];

export function machineColumns(nowMs: number): readonly MachineColumn[] {
  return [
    { field: "name", head: "NAME", of: ({ name = "" }) => name, rank: 0 },
    {
      field: "state",
      head: "STATE",
      of: ({ state = "" }) => state,
      rank: 0,
      paint: ({ state }) => paintOf(state),
    },
    {
      field: "since",
      head: "SINCE",
      of: ({ since }) => ageOf(since, nowMs),
      raw: ({ since = "" }) => since,
      rank: 1,
    },
    { field: "why", also: "conditions", head: "WHY", of: whyOf, rank: 2, least: 16 },
    { field: "versions", head: "SHIM", of: ({ versions }) => versions?.shim ?? "", rank: 3 },
    { field: "address", head: "FROM", of: ({ address = "" }) => address, rank: 4 },
    ...wideColumns(nowMs),
  ];
}

export const COLUMN_NAMES: readonly string[] = machineColumns(0).map(({ head }) => head.toLowerCase());

/** Renders the list. `chosen`: the wanted columns' heads in lower case, or undefined for the default columns. */
export function machineList({ machines, counts }: FoundMachines, chosen?: readonly string[]): Shown {
  const matching = sum(counts.matching);
  const rest = matching - machines.length;
  const columnsAt = (nowMs: number) => chosenColumns(machineColumns(nowMs), chosen);
  return listOf(machines, columnsAt, {
    nameOf: ({ name = "" }) => name,
    above: ({ screen }) => `${countsLine(counts, screen)}\n`,
    below:
      rest > 0 ? `${rest} more: --limit ${matching} shows them, or filters find those that matter\n` : "",
  });
}

export function chosenColumns(
  columns: readonly MachineColumn[],
  chosen: readonly string[] | undefined,
): MachineColumn[] {
  if (!chosen) return [...columns];
  return chosen.flatMap((head) => {
    const found = columns.find((column) => column.head.toLowerCase() === head);
    if (!found) return [];
    const { isWide: _, ...column } = found;
    return [column];
  });
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, each) => all + each, 0);

/** Returns a line like `3 of 1000 machines: 2 silent, 1 blocked`. */
export function countsLine({ matching, fleet }: FoundMachines["counts"], screen: TerminalScreen): string {
  const [found, all] = [sum(matching), sum(fleet)];
  const noun = all === 1 ? "machine" : "machines";
  const head = found === all ? `${all} ${noun}` : `${found} of ${all} ${noun}`;
  const known = FLEET_STATES.filter((state) => state !== "ready");
  const others = Object.keys(matching).filter((state) => !FLEET_STATES.some((each) => each === state));
  const parts = [...known, ...others, "ready"].flatMap((state) => {
    const count = matching[state] ?? 0;
    return count > 0 ? [`${count} ${painted(state, paintOf(state), screen)}`] : [];
  });
  return parts.length === 0 ? head : `${head}: ${parts.join(", ")}`;
}
