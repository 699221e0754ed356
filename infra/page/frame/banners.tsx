// Draws the banners above each view: the page is stale, the apiserver does not answer, mutes are on.
import { apiserverFault } from "../../../shared/deployment/apiserver-fault.ts";
import { activeMutes } from "../../../shared/fleet/active-mutes.ts";
import type { ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import type { MutesAnswer } from "../../../shared/protocol/receiver-answers.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { usePolled } from "../parts/answer.tsx";
import { Link } from "../parts/link.tsx";
import { Time } from "../parts/time.tsx";

/** Draws the state of the feed, unless the page is live. */
export function ConnectionBanner() {
  const { live } = usePage();
  const connection = live.connection.value;
  if (connection.kind === "live") return null;
  const { fault } = connection;
  if (connection.kind === "connecting") {
    if (!fault) return null;
    return (
      <div class="notice notice-fault banner" role="alert">
        The feed cannot be opened: {fault.message}. The page tries again.
      </div>
    );
  }
  return (
    <div class="notice notice-warning banner">
      {/* The age is outside the alert, because the age changes each second, and a screen reader would read each change of an alert. */}
      <span role="alert">
        <strong>Stale</strong>: no word from the Worker since <Time at={connection.sinceMs} form="absolute" />
        . The page shows the fleet of that time
        {fault ? `: ${fault.message}` : ""}.
      </span>{" "}
      <span class="quiet" aria-hidden="true">
        (<Time at={connection.sinceMs} />)
      </span>
    </div>
  );
}

/** Milliseconds between two checks of the apiserver. The Worker checks it at most every ten seconds. */
const CHECK_EVERY_MS = 30_000;

/** Draws the apiserver's fault: without the apiserver, the shown states and counts of machines may be old. */
export function ApiserverBanner() {
  const { value } = usePolled<ReadinessAnswer>("/readyz", () => CHECK_EVERY_MS, 503);
  const fault = value && apiserverFault(value);
  if (!fault) return null;
  return (
    <div class="notice notice-warning banner" role="alert">
      Since <Time at={fault.since} form="absolute" />, <strong>the apiserver {fault.text}</strong>. The
      machines’ states and counts may be from then.{" "}
      <Link href={hrefOf({ view: "deployment" })}>What to do</Link>
    </div>
  );
}

/** Draws the mutes that are on: without a banner, an operator would wait for alerts that do not come. */
export function MutesBanner() {
  const { clock } = usePage();
  const { value } = usePolled<MutesAnswer>("/v1/mutes", () => CHECK_EVERY_MS);
  const mutes = value && activeMutes(value.mutes, clock.value);
  if (!mutes) return null;
  return (
    <div class="notice notice-warning banner" role="status">
      <strong>Muted</strong>: no alerts on{" "}
      {mutes.shown.map(({ what, until, who }, index) => (
        <span key={index}>
          {index > 0 && "; "}
          {what} until <Time at={until} form="absolute" />, by {who}
        </span>
      ))}
      {mutes.more > 0 && `; ${mutes.more} more`}.{" "}
      <Link href={hrefOf({ view: "notifications" })}>Notifications</Link>
    </div>
  );
}
