// Reads facts from the sources that Node.js itself provides: os, DNS, statfs.
import { lookup } from "node:dns/promises";
import { statfs } from "node:fs/promises";
import { networkInterfaces, release } from "node:os";
import type { Reading } from "../base/reading.ts";
import { runChild } from "../base/child.ts";
import { monotonicMs } from "../base/clock.ts";
import { addressLookup } from "../sources/kernel/addresses.ts";
import { withDownInterfaces } from "../sources/kernel/interfaces.ts";
import { cgroups } from "../sources/kernel/machine.ts";
import { diskReader, servedFilesCheck } from "../sources/kernel/served-files.ts";
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
  | "withDown"
  | "lookup"
  | "readFileSystem"
  | "checkServed"
  | "readDisk"
>;

/** Returns the sources for facts and vitals. Call only once in a process: the sources remember a call that hangs. */
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
    withDown: withDownInterfaces(runChild, monotonicMs),
    lookup: inBackground(addressLookup((name) => lookup(name, { all: true, verbatim: true }))),
    readFileSystem: fileSystemReader((path) => statfs(path)),
    checkServed: servedFilesCheck("/"),
    readDisk: diskReader("/"),
  };
}

/**
 * Returns a function that calls `call` each time, and returns the latest result for the argument. Only the first
 * call for an argument waits for its result, so that a slow source delays only the first report. `call` must not
 * reject, and must end (see oneAtATime).
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
