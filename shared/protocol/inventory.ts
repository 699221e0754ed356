// Defines the schema of the inventory, and makes its labels and texts.
import * as z from "zod/mini";
import { INVENTORY_LIMITS, NAME_LIMITS } from "./limits.ts";
import { count, plainText } from "./schema.ts";

const text = z.optional(plainText(INVENTORY_LIMITS.textLength).check(z.minLength(1)));
const amount = z.optional(count);

/** The hardware of a machine, as far as known. Serial numbers and MAC addresses are present only if configured. */
export const inventorySchema = z.strictObject({
  cpu: z.optional(z.strictObject({ vendor: text, model: text, sockets: amount, physicalCores: amount })),
  system: z.optional(z.strictObject({ vendor: text, model: text, serial: text })),
  board: z.optional(z.strictObject({ vendor: text, model: text, serial: text })),
  disks: z.optional(
    z
      .array(z.strictObject({ vendor: text, model: text, type: text, sizeBytes: amount, serial: text }))
      .check(z.maxLength(INVENTORY_LIMITS.disks)),
  ),
  gpus: z.optional(
    z
      .array(z.strictObject({ vendor: text, model: text, memoryMiB: amount }))
      .check(z.maxLength(INVENTORY_LIMITS.gpus)),
  ),
  networkCards: z.optional(
    z
      .array(z.strictObject({ name: text, type: text, mac: text }))
      .check(z.maxLength(INVENTORY_LIMITS.networkCards)),
  ),
});
export type Inventory = z.infer<typeof inventorySchema>;

const LABEL_NAMES = [
  "cpu-vendor",
  "cpu-model",
  "system-vendor",
  "system-model",
  "board-vendor",
  "board-model",
  "gpu-model",
  "gpus",
] as const;
const labelOf = (name: (typeof LABEL_NAMES)[number]) => `rollcall.dev/${name}`;

/** Returns true for a label that inventoryLabels may set. */
export function isInventoryLabel(key: string): boolean {
  return LABEL_NAMES.some((name) => labelOf(name) === key);
}

/** Returns a label for each known value. If there are several GPUs, the label has the model of the first one. */
export function inventoryLabels({ cpu, system, board, gpus = [] }: Inventory): Record<string, string> {
  const values: Record<(typeof LABEL_NAMES)[number], string | undefined> = {
    "cpu-vendor": cpu?.vendor,
    "cpu-model": cpu?.model,
    "system-vendor": system?.vendor,
    "system-model": system?.model,
    "board-vendor": board?.vendor,
    "board-model": board?.model,
    "gpu-model": gpus[0]?.model,
    gpus: gpus.length > 0 ? String(gpus.length) : undefined,
  };
  const labels: Record<string, string> = {};
  for (const name of LABEL_NAMES) {
    const label = labelValueOf(values[name] ?? "");
    if (label !== "") labels[labelOf(name)] = label;
  }
  return labels;
}

/** Makes a label's value of a text: `Core(TM) i5-8259U CPU @ 2.30GHz` becomes `Core-TM-i5-8259U-CPU-2.30GHz`. */
function labelValueOf(text: string): string {
  const ends = /^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g;
  const value = text.replace(/[^A-Za-z0-9._]+/g, "-").replace(ends, "");
  return value.slice(0, NAME_LIMITS.labelValueLength).replace(ends, "");
}

/** Describes each kind of hardware in one text, for a machine's history. */
export const INVENTORY_WORDS: [name: string, read: (inventory: Inventory) => string | undefined][] = [
  ["CPU", ({ cpu }) => cpu && words(cpu.sockets && `${cpu.sockets} ×`, cpu.vendor, cpu.model)],
  ["system", ({ system }) => system && words(system.vendor, system.model, system.serial)],
  ["board", ({ board }) => board && words(board.vendor, board.model, board.serial)],
  [
    "disks",
    ({ disks }) =>
      list(disks, ({ vendor, model, sizeBytes, serial }) =>
        words(vendor, model, sizeBytes && `${sizeBytes} bytes`, serial),
      ),
  ],
  ["GPUs", ({ gpus }) => list(gpus, ({ vendor, model }) => words(vendor, model))],
  ["network cards", ({ networkCards }) => list(networkCards, ({ name, mac }) => words(name, mac))],
];

function words(...parts: (string | number | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== 0).join(" ");
}

function list<T>(things: T[] | undefined, textOf: (thing: T) => string): string | undefined {
  return things && (things.length === 0 ? "none" : things.map(textOf).join(", "));
}
