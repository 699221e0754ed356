// Defines a thief's knowledge of a machine's sockets: all frames on them, and frames that the machine signed and
// never sent.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";

export interface Tapped {
  name: string;
  /**
   * The X25519 public keys of the socket's session, and the nonces of its answers. `theirs` is "" if no report was
   * accepted.
   */
  own: string;
  theirs: string;
  nonces: string[];
  /** The reports that the gateway received, the oldest first. */
  reports: ReportFrame[];
  beats: string[];
  withheld: Withheld;
}

/**
 * Signed requests that the machine has not sent. When a thief changes one, only one defence stands between the
 * change and its effect.
 */
export interface Withheld {
  /** A report for this socket. The gateway would accept it. */
  report: ReportFrame;
  /** A report for HTTP. The Worker would accept it there. */
  overHttp: ReportFrame;
  /** The next heartbeat, which would renew the lease. "" if there is no session. */
  beat: string;
  /**
   * Heartbeats with a wrong `n` or nonce, signed with the session's key, which the thief lacks. No shim makes such
   * heartbeats.
   */
  wrongBeats: string[];
}
