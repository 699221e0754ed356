// Checks whether sockets pass the way to the Worker, and which way this machine's shim reports now. Opens none.
import type { StatusFile } from "../status/status-file.ts";
import type { Outbound } from "../worker-link/outbound.ts";
import { type Finding, ok, warn } from "./finding.ts";
import type { WorkerProbes } from "./worker-probes.ts";

const TODO =
  "nothing has to be done: HTTP does the same, at a higher price for whoever runs the Worker; to have sockets, let WebSockets to it through";

/** An upgrade that the Worker itself refuses has come through whatever is on the way. */
export async function checkSocket(url: URL, { upgrade }: WorkerProbes, outbound: Outbound): Promise<Finding> {
  const { why, reason } = await upgrade(url, outbound);
  if (reason === "not-found") return ok("WebSocket", "this Worker has no sockets: reports go by HTTP");
  if (reason !== null && reason !== "upgrade-required")
    return ok("WebSocket", "the request that opens a socket reaches the Worker");
  return warn("WebSocket", `reports go by HTTP, since no socket can be opened: ${why}`, TODO);
}

/** Which way the reports of a shim that runs go, and why not over a socket. */
export function transportFindings({ transport }: StatusFile): Finding[] {
  if (transport === undefined) return [];
  const { via, choice, fault } = transport;
  if (via === "socket") return [ok("transport", "reports go over a socket")];
  if (choice === "http") return [ok("transport", "reports go by HTTP (--transport http)")];
  if (fault === undefined) return [ok("transport", "reports go by HTTP; nothing stands in a socket's way")];
  return [warn("transport", `reports go by HTTP, since there is no socket: ${fault}`, TODO)];
}
