// The Worker that serves the page to a test: in workerd, with an apiserver and machines whose reports and faults the test
// controls, and with an index that it can fill with machines that do not exist. No test of its own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startApiserver } from "../../infra/local/apiserver/serve.ts";
import { mintToken } from "../../infra/local/admin.ts";
import { tokenAdmin } from "../../infra/local/kube-admin.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { randomSecret, sha256 } from "../e2e/local-worker.ts";
import { type OwnWorker, startOwnWorker } from "../e2e/own-worker.ts";
import { type PageMachines, pageMachines } from "./page-machines.ts";
import { startWire, type Wire } from "./wire.ts";

/** The Worker's own, and /fill and /transitions (test/worker/support/filled-index-entry.ts). */
const ENTRY = join(ROOT, "test/worker/support/filled-index-entry.ts");
const AT_ONCE = 5000;
/** A machine without a report for this long is silent: its Node is Unknown then, which the Worker sees. */
const NODE_LIFECYCLE = { monitorPeriodMs: 500, monitorGracePeriodMs: 5000 };

export interface PageWorker extends Pick<OwnWorker, "adminSecret" | "rollcall">, PageMachines {
  /** The page's origin, for browsers: over the wire that a test can cut. */
  url: string;
  /** Of the role view. */
  viewSecret: string;
  /** So many machines more, named machine-000000 …, of which every fiftieth is silent. No object of theirs is made. */
  fillIndex: (count: number) => Promise<void>;
  /** So many of those that have not changed yet: by turns one is silent now, and one is ready. */
  changeIndex: (count: number) => Promise<void>;
  /** The machine's memory is short, or is again enough. */
  pressure: (name: string, isUnder: boolean) => Promise<void>;
  /** Somebody deletes its Node. */
  deleteNode: (name: string) => Promise<void>;
  /** No browser reaches anything any more, or the feed alone, until `restore`. */
  cut: Wire["cut"];
  cutFeed: Wire["cutFeed"];
  restoreFeed: Wire["restore"];
  restore: Wire["restore"];
}

interface Choice {
  /** An embedded apiserver, for machines that join; without it there is nothing but what `fillIndex` says. */
  withCluster?: boolean;
  /** Of the Worker, beside those of npm start. */
  variables?: Record<string, string>;
}

export async function startPageWorker({
  withCluster = true,
  variables = {},
}: Choice = {}): Promise<PageWorker> {
  const folder = temporaryFolder();
  const viewSecret = randomSecret();
  const apiserver = withCluster
    ? await startApiserver({ dir: join(folder.path, "cluster"), port: 0, nodeLifecycle: NODE_LIFECYCLE })
    : null;
  const cluster = apiserver && {
    kubeUrl: apiserver.url,
    kubeCa: readFileSync(apiserver.caFile, "utf8"),
    kubeToken: apiserver.adminToken,
  };
  const worker = await startOwnWorker(folder.path, cluster ?? undefined, {
    entry: ENTRY,
    variables: { VIEW_SECRET_SHA256: sha256(viewSecret), ...variables },
  });
  const wish = { names: "*", uses: 1000, withoutFactsOnlyTaint: false };
  const machines = pageMachines(worker.url, await mintToken(worker.url, worker.adminSecret, wish));
  const wire = await startWire(worker.url);
  let [filled, changed] = [0, 0];
  return {
    ...machines,
    url: wire.url,
    adminSecret: worker.adminSecret,
    viewSecret,
    rollcall: worker.rollcall,
    pressure: (name, isUnder) => machines.fault(name, isUnder ? "memory pressure" : undefined),
    async deleteNode(name) {
      if (!cluster) throw new Error("there is no cluster");
      const admin = tokenAdmin(cluster.kubeUrl, cluster.kubeCa, cluster.kubeToken);
      await admin({ method: "DELETE", path: `/api/v1/nodes/${name}` });
    },
    async fillIndex(count) {
      for (let from = 0; from < count; from += AT_ONCE)
        await done(`${worker.url}/fill/${from}/${Math.min(from + AT_ONCE, count)}/${count}`);
      filled = count;
    },
    async changeIndex(count) {
      await done(`${worker.url}/transitions/${changed}/${changed + count}/${filled}`);
      changed += count;
    },
    cut: wire.cut,
    cutFeed: wire.cutFeed,
    restore: wire.restore,
    restoreFeed: wire.restore,
    async stop() {
      await machines.stop();
      await wire.stop();
      await worker.stop();
      await apiserver?.stop();
      folder.remove();
    },
  };
}

async function done(url: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} → ${response.status}: ${await response.text()}`);
}
