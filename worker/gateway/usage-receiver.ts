// Makes the receiver of what machines use, from the variables of the deployment.
import { entriesOf } from "../../shared/deployment/check-result.ts";
import { HEADER } from "../../shared/deployment/secrets.ts";
import { VARIABLES } from "../../shared/deployment/variables.ts";
import { type Environment, fleetIndex, registry } from "../env.ts";

/** The labels of machines, by the machine's name. */
export type LabelsOf = Record<string, Record<string, string>>;

export interface UsageReceiver {
  deployment: string;
  /** Sends a request's body, with the URL and the header of the deployment. Follows no redirect. */
  post: (body: string, signal: AbortSignal) => Promise<Response>;
  /** Returns the labels that the deployment names; null if it names none. Typically asks the fleet index. */
  labels: ((names: string[]) => Promise<LabelsOf>) | null;
  /** Returns the number of gateways in use. Typically asks the registry. */
  gateways: () => Promise<number>;
}

/** Returns the receiver of the machines' usage; null without a valid USAGE_OTLP_URL. GET /readyz reports an invalid one. */
export function usageReceiver(env: Environment): UsageReceiver | null {
  const { USAGE_OTLP_URL: url = "", USAGE_OTLP_LABELS = "", DEPLOYMENT: deployment } = env;
  if (url === "" || VARIABLES.USAGE_OTLP_URL(url)?.state === "failed") return null;
  const [, header, secret = ""] = HEADER.exec(env.USAGE_OTLP_HEADER ?? "") ?? [];
  const headers = { "content-type": "application/json", ...(header !== undefined && { [header]: secret }) };
  const keys = entriesOf(USAGE_OTLP_LABELS);
  return {
    deployment,
    post: (body, signal) => fetch(url, { method: "POST", headers, body, redirect: "manual", signal }),
    gateways: async () => (await registry(env).gatewaysInUse()).length,
    labels: keys.length === 0 ? null : async (names) => fleetIndex(env).labels(names, keys),
  };
}
