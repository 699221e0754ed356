// Reads the hardware and prints JSON: its own program (dist/inventory.js), so the shim never loads systeminformation.
import { existsSync } from "node:fs";
import type Systeminformation from "systeminformation";
// esbuild bundles only these parts of the package, which are half of it. The package has types for the whole alone.
// @ts-expect-error -- see above
import cpuPart from "systeminformation/lib/cpu.js";
// @ts-expect-error -- see above
import filesystemPart from "systeminformation/lib/filesystem.js";
// @ts-expect-error -- see above
import graphicsPart from "systeminformation/lib/graphics.js";
// @ts-expect-error -- see above
import networkPart from "systeminformation/lib/network.js";
// @ts-expect-error -- see above
import systemPart from "systeminformation/lib/system.js";
import { hardwareOf } from "./hardware.ts";

const si = {
  ...cpuPart,
  ...filesystemPart,
  ...graphicsPart,
  ...networkPart,
  ...systemPart,
} as typeof Systeminformation;

/** Returns `read`'s result; undefined if `read` fails, so that the other parts of the hardware are still reported. */
async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

/** Returns whether an interface is a network card. Interfaces of containers and bridges have no device. */
const isCard = ({ iface }: { iface: string }) => existsSync(`/sys/class/net/${iface}/device`);

const cpu = await orNothing(() => si.cpu());
const system = await orNothing(() => si.system());
const board = await orNothing(() => si.baseboard());
const disks = await orNothing(() => si.diskLayout());
const gpus = (await orNothing(() => si.graphics()))?.controllers;
const interfaces = await orNothing(() => si.networkInterfaces());
const networkCards = Array.isArray(interfaces) ? interfaces.filter(isCard) : undefined;
const found = { cpu, system, board, disks, gpus, networkCards };
const present = Object.fromEntries(Object.entries(found).filter(([, thing]) => thing !== undefined));
process.stdout.write(JSON.stringify(hardwareOf(present, process.argv.includes("--serials"))));
