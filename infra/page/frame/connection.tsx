// How it is with the feed: a sign that is always there, and a banner where what is shown may be out of date.
import { usePage } from "../page.ts";
import { Time } from "../parts/time.tsx";

const WORDS = { connecting: "connecting", live: "live", stale: "stale" } as const;

export function ConnectionSign() {
  const { live } = usePage();
  const { kind } = live.connection.value;
  return (
    <span class={`connection connection-${kind}`} role="status">
      <span class="dot" aria-hidden="true" />
      {WORDS[kind]}
    </span>
  );
}

export function ConnectionBanner() {
  const { live } = usePage();
  const connection = live.connection.value;
  if (connection.kind === "live") return null;
  const { fault } = connection;
  if (connection.kind === "connecting") {
    if (!fault) return null;
    return (
      <div class="notice notice-fault banner" role="alert">
        The feed cannot be opened: {fault.message}. It is tried again.
      </div>
    );
  }
  return (
    <div class="notice notice-warning banner">
      {/* What ticks is not part of the alert: it would be read out each second. */}
      <span role="alert">
        <strong>Stale</strong>: no word from the Worker since <Time at={connection.sinceMs} form="absolute" />
        . What is shown was so then; nothing is known of now
        {fault ? `: ${fault.message}` : ""}.
      </span>{" "}
      <span class="quiet" aria-hidden="true">
        (<Time at={connection.sinceMs} />)
      </span>
    </div>
  );
}
