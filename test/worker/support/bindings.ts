// Defines the variables and secrets of the Worker's tests. The secrets exist for tests only.
import { createHash } from "node:crypto";
import { ADMIN_SECRET, KUBE_TOKEN, KUBE_URL, METRICS_SECRET, ORIGIN, VIEW_SECRET } from "./constants.ts";

const sha256 = (secret: string) => createHash("sha256").update(secret).digest("base64url");

export const testVariables = {
  ORIGINS: `${ORIGIN} https://other.test`,
  KUBE_URL,
  // Most tests send in a second the requests that a machine sends in an hour.
  MACHINE_REQUESTS: "1000000",
  // All tests of a file share one fleet index, and most machines have the same join token.
  SHARED_LIMITS_FACTOR: "1000",
  // In most tests, notices of the watch would wake node objects. Tests of the watch turn it on.
  NODE_WATCH: "off",
  MARK_SILENT_NODES: "off",
  // Nodes are removed only by an order of a test, since no cron trigger runs here.
  REMOVE_SILENT_NODES_DAYS: "30",
  VIEW_SECRET_SHA256: sha256(VIEW_SECRET),
  METRICS_SECRET_SHA256: sha256(METRICS_SECRET),
};

/** The secrets, which are set in the process's environment, where wrangler reads them. */
export const testSecrets = {
  KUBE_TOKEN,
  KID_MAC_KEYS: `2:${Buffer.alloc(32, 2).toString("base64url")} 1:${Buffer.alloc(32, 1).toString("base64url")}`,
  ADMIN_SECRET_SHA256: sha256(ADMIN_SECRET),
};
