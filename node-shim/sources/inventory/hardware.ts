// Converts systeminformation's output to the facts' inventory. Keeps known values only, in texts of limited length.
import type { Systeminformation } from "systeminformation";
import type { Inventory } from "../../../shared/protocol/inventory.ts";
import { INVENTORY_LIMITS } from "../../../shared/protocol/limits.ts";

/** The parts of the hardware that were readable. An unreadable part is absent. */
export interface Found {
  cpu?: Pick<Systeminformation.CpuData, "manufacturer" | "brand" | "processors" | "physicalCores">;
  system?: Pick<Systeminformation.SystemData, "manufacturer" | "model" | "serial">;
  board?: Pick<Systeminformation.BaseboardData, "manufacturer" | "model" | "serial">;
  disks?: Pick<Systeminformation.DiskLayoutData, "vendor" | "name" | "type" | "size" | "serialNum">[];
  gpus?: Pick<Systeminformation.GraphicsControllerData, "vendor" | "model" | "vram">[];
  networkCards?: Pick<Systeminformation.NetworkInterfacesData, "iface" | "type" | "mac">[];
}

export function hardwareOf(found: Found, withSerials: boolean): Inventory {
  const { cpu, system, board, disks, gpus, networkCards } = found;
  const serial = (value: string | undefined) => (withSerials ? value : undefined);
  return known({
    cpu:
      cpu &&
      known({
        vendor: text(cpu.manufacturer),
        model: text(cpu.brand),
        sockets: count(cpu.processors),
        physicalCores: count(cpu.physicalCores),
      }),
    system: system && named(system.manufacturer, system.model, serial(system.serial)),
    board: board && named(board.manufacturer, board.model, serial(board.serial)),
    disks: disks
      ?.slice(0, INVENTORY_LIMITS.disks)
      .map(({ vendor, name, type, size, serialNum }) =>
        known({ ...named(vendor, name, serial(serialNum)), type: text(type), sizeBytes: count(size) }),
      ),
    gpus: gpus
      ?.slice(0, INVENTORY_LIMITS.gpus)
      .map(({ vendor, model, vram }) => known({ ...named(vendor, model), memoryMiB: count(vram) })),
    networkCards: networkCards
      ?.slice(0, INVENTORY_LIMITS.networkCards)
      .map(({ iface, type, mac }) => known({ name: text(iface), type: text(type), mac: text(serial(mac)) })),
  });
}

function named(vendor?: string, model?: string, serial?: string) {
  return known({ vendor: text(vendor), model: text(model), serial: text(serial) });
}

/** Returns the text; undefined for an empty text, a dash, or a vendor's placeholder. */
function text(value: string | null | undefined): string | undefined {
  const cut = (value ?? "").trim().slice(0, INVENTORY_LIMITS.textLength).toWellFormed();
  return /^(-|unknown|none|n\/a|default string|to be filled by o\.?e\.?m\.?)?$/i.test(cut) ? undefined : cut;
}

function count(value: number | null | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Removes the fields that are undefined. */
function known<T extends object>(thing: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(thing).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}
