// A thief's knowledge of a machine's sockets: all frames on them, and frames that the machine signed and never sent.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";

export interface Tapped {
  name: string;
  /** The X25519 public keys of its session, and the nonces of its answers; `theirs` is "" if no report was accepted. */
  own: string;
  theirs: string;
  nonces: string[];
  /** Received reports, the oldest first. */
  reports: ReportFrame[];
  beats: string[];
  withheld: Withheld;
}

/** Signed by the machine: with it, only one defence stands between a change and its effect. */
export interface Withheld {
  /** For this socket: it would be accepted. */
  report: ReportFrame;
  /** For HTTP: it would be accepted there. */
  overHttp: ReportFrame;
  /** The next heartbeat, which would renew the lease; "": there is no session. */
  beat: string;
  /** Heartbeats under the session's key, which the thief lacks, with a wrong `n` or nonce. No shim makes them. */
  wrongBeats: string[];
}
