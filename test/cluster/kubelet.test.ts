// Tests the shim next to a real kubelet on this computer: both produce the same Node and the same events, except
// for listed differences with a reason.
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { missingForKubelet } from "../lab/kubelet/real-kubelet.ts";
import { ROOT } from "../e2e/local-cluster.ts";

const missing = missingForKubelet(process.env["KUBEBUILDER_ASSETS"]);

/** Reads the kernel settings that a kubelet changes. */
const sysctls = () =>
  ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"].map((name) =>
    readFileSync(`/proc/sys/${name}`, "utf8"),
  );

describe.skipIf(missing !== null)(
  `beside a real kubelet${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    test.each<[situation: string, flags: string[]]>([
      ["no flags", ["--events", "none"]],
      ["a cordon and a pressure", ["--events", "cordon,memory"]],
      [
        "reservations, thresholds, names, taints and all images",
        [
          "--events=none",
          "--hostname-override=edge-1",
          "--node-labels=shop=4711,rack.example/row=7",
          "--register-with-taints=dedicated=edge:NoSchedule",
          "--max-pods=30",
          "--pods-per-core=5",
          "--node-status-max-images=-1",
          "--system-reserved=cpu=100m,memory=256Mi,ephemeral-storage=1Gi",
          "--kube-reserved=cpu=200m,memory=512Mi",
          "--eviction-hard=memory.available<5%,nodefs.available<1Gi",
          "--provider-id=rollcall://edge-1",
        ],
      ],
    ])("%s → 0, and the computer is unchanged", (_situation, flags) => {
      const before = sysctls();
      const { status, stdout, stderr } = spawnSync(process.execPath, ["test/lab/kubelet/main.ts", ...flags], {
        cwd: ROOT,
        encoding: "utf8",
      });
      expect({ status, stdout, stderr }).toEqual({
        status: 0,
        stdout: expect.stringMatching(/, 0 (events )?must not (differ )?and do\n$/),
        stderr: expect.any(String),
      });
      expect(sysctls()).toEqual(before);
    });
  },
);
