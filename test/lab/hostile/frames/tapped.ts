// What a thief has of a machine's sockets: all that was said on them, and what the machine signed and never sent.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";

export interface Tapped {
  name: string;
  /** The X25519 public keys of its session, and the nonces of its answers; `theirs` is "" where no report was accepted. */
  own: string;
  theirs: string;
  nonces: string[];
  /** What has arrived, the oldest first. */
  reports: ReportFrame[];
  beats: string[];
  withheld: Withheld;
}

/** Signed by the machine: with it, one defence alone stands between a change and its effect. */
export interface Withheld {
  /** For this socket: it would be taken. */
  report: ReportFrame;
  /** For HTTP: it would be taken there. */
  overHttp: ReportFrame;
  /** The next heartbeat, which would renew the lease; "": there is no session. */
  beat: string;
  /** Under the session's key, which the thief has not: heartbeats with another `n` or over another nonce. No shim makes them. */
  wrongBeats: string[];
}
