// A separate program (dist/inventory.js): reads the hardware, prints it as JSON, and ends. What it loads and forks is
// never part of the shim's process.
import { existsSync } from "node:fs";
import si from "systeminformation";
import { hardwareOf } from "./hardware.ts";

/** One part that cannot be read must not hide the others. */
async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

/** Interfaces of containers and bridges come and go; only a card has a device. */
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
