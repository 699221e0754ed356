// The views to go to, with what waits in them; on a phone it scrolls by itself.
import { useEffect, useRef } from "preact/hooks";
import { hrefOf, VIEWS, type ViewName } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";

export const VIEW_TITLES: Readonly<Record<ViewName, string>> = {
  fleet: "Fleet",
  approvals: "Approvals",
  tokens: "Tokens",
  audit: "Audit",
  notifications: "Notifications",
  deployment: "Deployment",
};

export function Navigation() {
  const { route, live } = usePage();
  const nav = useRef<HTMLElement>(null);
  const { view: current } = route.value;
  const pending = live.pending.value.length;
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav ref={nav} aria-label="Views">
      {VIEWS.map((view) => (
        <Link key={view} href={hrefOf({ view })} isCurrent={current === view}>
          {VIEW_TITLES[view]}
          {view === "approvals" && pending > 0 && (
            <span class="badge" title={`${pending} wait`}>
              {pending}
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}
