// The sources of facts that Node.js itself provides for this machine: os, DNS, statfs. Starts no process.
import { lookup } from "node:dns/promises";
import { statfs } from "node:fs/promises";
import { networkInterfaces, release } from "node:os";
import type { Reading } from "../base/reading.ts";
import { addressLookup } from "../sources/kernel/addresses.ts";
import { cgroups } from "../sources/kernel/machine.ts";
import { fileSystemReader } from "../sources/kernel/storage.ts";
import type { FactsOptions } from "./fact-groups.ts";

type SystemSources = Pick<
  FactsOptions,
  | "root"
  | "nodefsPath"
  | "kernel"
  | "os"
  | "arch"
  | "cgroups"
  | "networkInterfaces"
  | "lookup"
  | "readFileSystem"
>;

/** Made once per process, for gatherFacts and gatherVitals alike: a hung call is remembered in it. */
export function systemSources(
  rootDir: string, // typically /var/lib/kubelet
): SystemSources {
  return {
    root: "/",
    nodefsPath: rootDir,
    kernel: release(),
    os: process.platform,
    arch: process.arch,
    cgroups: cgroups("/"),
    networkInterfaces,
    lookup: inBackground(addressLookup((name) => lookup(name, { all: true, verbatim: true }))),
    readFileSystem: fileSystemReader((path) => statfs(path)),
  };
}

// Keeps a slow source from delaying more than the first report.

/**
 * Calls `call` each time, but waits only for the first result of an argument. Later it returns the latest result, so
 * that a change is noticed one report later. `call` must not reject, and must end (see oneAtATime).
 */
export function inBackground<R>(
  call: (argument: string) => Promise<Reading<R>>,
): (argument: string) => Promise<Reading<R>> {
  const latest = new Map<string, Reading<R>>();
  return async (argument) => {
    const asked = call(argument).then((reading) => {
      latest.set(argument, reading);
      return reading;
    });
    return latest.get(argument) ?? asked;
  };
}
