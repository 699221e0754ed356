// Formats a machine of the fleet index for operators: all fields, chosen fields, or CSV columns.
import type { FleetMachine } from "../../shared/protocol/fleet-answers.ts";
import type { MachineField } from "../../shared/fleet/machine-fields.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { FoundMachine } from "./machine-search.ts";

const at = (ms: number) => new Date(ms).toISOString();
const atOrNull = (ms: number | null) => (ms ? at(ms) : null);

/** Returns the machine as operators see it. `id`: the machine's name; before approval: name, a space, token ID. */
export function shownMachine({ id, summary }: FoundMachine): FleetMachine {
  const { sinceMs, silentSinceMs, conditions, key, createdMs = 0, ...same } = summary;
  const { pinnedAtMs, ...sameOfKey } = key;
  return {
    ...same,
    name: id.split(" ")[0] ?? "",
    since: at(sinceMs),
    silentSince: atOrNull(silentSinceMs),
    conditions: conditions.map(({ sinceMs: begun, ...condition }) => ({
      ...condition,
      since: atOrNull(begun),
    })),
    key: { ...sameOfKey, pinnedAt: at(pinnedAtMs) },
    created: atOrNull(createdMs),
  };
}

/** Returns the chosen fields of a machine, in the order of `fields`. */
export function chosenFields(machine: FleetMachine, fields: readonly MachineField[]): Partial<FleetMachine> {
  return Object.fromEntries(fields.map((field) => [field, machine[field]]));
}

type Shown = Partial<FleetMachine>;
const PARTS: Partial<Record<MachineField, readonly string[]>> = {
  versions: ["shim", "kernel", "os", "runtime", "architecture"],
  key: ["thumbprint", "token", "pinnedAt", "isUsed"],
};

/** Returns the CSV columns of the fields. `versions` and `key` have a column for each part. */
export function machineColumns(fields: readonly MachineField[]): [string, (machine: Shown) => unknown][] {
  return fields.flatMap((field): [string, (machine: Shown) => unknown][] => {
    const parts = PARTS[field];
    return parts
      ? parts.map((part) => [
          `${field}.${part}`,
          (machine) => (machine[field] as Record<string, unknown>)[part],
        ])
      : [[field, (machine) => cellOf(machine, field)]];
  });
}

function cellOf(machine: Shown, field: MachineField): unknown {
  if (field === "conditions") return machine.conditions?.map(({ type, status }) => `${type}=${status}`);
  if (field === "addresses") return machine.addresses?.map(({ type, address }) => `${type}=${address}`);
  return machine[field];
}

/** Makes a row of the index for a machine that waits for approval. */
export function pendingRow({
  name,
  token,
  thumbprint,
  address,
  askedAt,
  pinned,
}: PendingMachine): FoundMachine {
  const askedAtMs = Date.parse(askedAt);
  const holder = pinned ? `the name belongs to the key ${pinned.thumbprint}` : "the name is free by now";
  const summary: MachineSummary = {
    state: "pending",
    sinceMs: askedAtMs,
    phase: null,
    why: `it waits for an operator's approval: ${holder}`,
    conditions: [],
    labels: {},
    isUnschedulable: false,
    versions: { shim: "", kernel: "", os: "", runtime: "", architecture: "" },
    addresses: [],
    address,
    capacity: {},
    skewMs: 0,
    silentSinceMs: null,
    boot: "",
    process: "",
    transport: "http",
    withheld: "",
    key: { thumbprint, token, pinnedAtMs: askedAtMs, isUsed: false },
  };
  return { id: `${name} ${token}`, summary };
}
