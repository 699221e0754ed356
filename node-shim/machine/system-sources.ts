// The sources of facts that Node.js itself provides for this machine: os, DNS, statfs. Starts no process.
import { lookup } from "node:dns/promises";
import { statfs } from "node:fs/promises";
import { networkInterfaces, release } from "node:os";
import { addressLookup } from "../sources/kernel/addresses.ts";
import { cgroups } from "../sources/kernel/cgroups.ts";
import type { FactsOptions } from "./fact-groups.ts";
import { inBackground } from "../base/in-background.ts";
import { fileSystemReader } from "../sources/kernel/storage.ts";

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
