// Lists the checks that `npm run compatibility` runs against releases of Kubernetes, and reads the recorded results, from
// which `npm run generate` makes the table in docs/cluster.md.
import { readFileSync } from "node:fs";

export interface Check {
  /** The words for the table. */
  what: string;
  /** The project of vitest, and the path of the tests. */
  project: "cluster" | "lab";
  file: string;
}

export const CHECKS: Readonly<Record<string, Check>> = {
  requests: {
    what: "answers to requests of rollcall, kubectl and Kubernetes' e2e tests",
    project: "cluster",
    file: "test/cluster/contract.test.ts",
  },
  rights: {
    what: "roles, admission policies and flow control of `infra/rbac`",
    project: "cluster",
    file: "test/cluster/rbac.test.ts",
  },
  controllers: {
    what: "kube-controller-manager: silence, taints, leases, owners",
    project: "cluster",
    file: "test/cluster/controllers.test.ts",
  },
  watch: {
    what: "the Worker with machines: watch, DaemonSets, outages, a restored etcd",
    project: "cluster",
    file: "test/cluster/node-watch.test.ts",
  },
  e2e: {
    what: "Kubernetes' own e2e tests of Nodes, leases and events",
    project: "lab",
    file: "test/lab/compatibility/kubernetes.test.ts",
  },
  fleet: {
    what: "80 machines with faults: five places report the same states",
    project: "lab",
    file: "test/lab/compatibility/fleet.test.ts",
  },
};

/** The numbers of tests of one check on one release. */
interface Result {
  passed: number;
  failed: number;
}

/** The results by release, such as "1.36.3", and by check. */
export type Results = Record<string, Record<string, Result>>;

export const RESULTS_FILE = new URL("results.json", import.meta.url);

export function recordedResults(): Results {
  return JSON.parse(readFileSync(RESULTS_FILE, "utf8")) as Results;
}

/** Returns the table of all releases, the newest first: a row for each check. */
export function compatibilityTable(results: Results): string[][] {
  const releases = Object.keys(results).toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }));
  const rows = Object.entries(CHECKS).map(([name, { what }]) => [
    what,
    ...releases.map((release) => cellOf(results[release]?.[name])),
  ]);
  return [["check", ...releases], ...rows];
}

function cellOf({ passed, failed }: Result = { passed: 0, failed: 0 }): string {
  if (passed + failed === 0) return "not run";
  return failed === 0 ? "passes" : `${passed} of ${passed + failed} tests pass`;
}
