// Draws the page's frame: navigation, the state of the feed, messages, and the view that the URL names.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { Component, type ComponentChildren, type ComponentType, type RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { OperatorRoute } from "../../../shared/protocol/confinement.ts";
import { pressed } from "../base/keys.ts";
import { zoneName } from "../base/relative-time.ts";
import { hrefOf, scrollBack, type ViewName, VIEWS } from "../base/places.ts";
import { useStuckHeight } from "../base/stuck-height.ts";
import type { SessionStore } from "../live/session.ts";
import { FleetView } from "../fleet/fleet-view.tsx";
import { THEMES, usePage } from "../page.ts";
import { Dialog } from "../parts/dialog.tsx";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import { ApiserverBanner, ConnectionBanner, MutesBanner } from "./banners.tsx";
import { SignIn, useLinkCode } from "./sign-in.tsx";

export function App() {
  const page = usePage();
  const { session, preferences } = page;
  useEffect(() => void session.refresh(), []);
  useSignalEffect(() => {
    const theme = preferences.theme.value;
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  });
  const isIn = useComputed(() => session.session.value.kind === "in");
  useSignalEffect(() => {
    if (isIn.value) page.live.start();
    else page.live.stop();
  });
  const code = useLinkCode();
  useSignalEffect(() => {
    // A link's code is dropped after the sign-in, so that it does not sign in again after the operator signs out.
    if (isIn.value && code.value !== null) code.value = null;
  });
  const state = session.session.value;
  if (state.kind === "asking") return <main class="quiet pad">Connecting …</main>;
  if (state.kind === "unknown")
    return (
      <main>
        <FaultNotice
          what="The Worker could not be reached"
          fault={state.fault}
          again={() => void session.refresh()}
        />
      </main>
    );
  if (state.kind === "out") return <SignIn {...state} code={code} />;
  return <Frame />;
}

function Frame() {
  const page = usePage();
  const isHelpOpen = useSignal(false);
  const { route, live, viewKeys } = page;
  const { connection } = live;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const help = { key: "?", does: "shows the keys", run: () => (isHelpOpen.value = true) };
      pressed(event, [...viewKeys.value, help]);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const main = useRef<HTMLElement>(null);
  useArrival(main);
  // During an outage an operator opens machines, and their code could not be loaded then.
  useSignalEffect(() => {
    if (live.isKnown.value) MachineView.preload();
  });
  const current = route.value;
  const title = current.view === "machine" ? current.machine : VIEW_TITLES[current.view];
  const deployment = useDeployment();
  useEffect(() => {
    document.title = [title, ...(deployment === PRODUCT ? [] : [deployment]), PRODUCT].join(" · ");
  }, [title, deployment]);
  return (
    <div class="frame" data-connection={connection.value.kind}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Top deployment={deployment} onHelp={() => (isHelpOpen.value = true)} />
      <ConnectionBanner />
      {page.session.refusal("GET /readyz") === null && <ApiserverBanner />}
      {page.session.refusal("GET /v1/mutes") === null && <MutesBanner />}
      <main ref={main} id="main" tabIndex={-1} aria-label={title}>
        <DrawBoundary key={title} what="This view">
          <View />
        </DrawBoundary>
      </main>
      <Foot />
      <Messages />
      {isHelpOpen.value && <KeysHelp onClose={() => (isHelpOpen.value = false)} />}
    </div>
  );
}

/** Draws the page's head, which stays on the screen. */
function Top({ deployment, onHelp }: { deployment: string; onHelp: () => void }) {
  const top = useRef<HTMLElement>(null);
  useStuckHeight(top, "--top");
  return (
    <header ref={top} class="top">
      <Identity deployment={deployment} />
      <Navigation />
      <div class="row">
        <ConnectionSign />
        <ThemeChoice />
        <button type="button" class="plain keys-button" aria-label="Keys" onClick={onHelp}>
          ?
        </button>
        <SignedIn />
      </div>
    </header>
  );
}

/** Names the time zone of all times on the page, and links to the documentation if the deployment has its address. */
function Foot() {
  const { clock, session } = usePage();
  const docs = session.docs();
  return (
    <footer class="quiet row foot">
      <span>Times are in {zoneName(clock.peek())}.</span>
      {docs !== undefined && (
        <a href={`${docs}/`} target="_blank" rel="noreferrer">
          Documentation
        </a>
      )}
    </footer>
  );
}

const PRODUCT = "rollcall";

/** Returns the deployment's name: `rollcall` unless its configuration has another one. */
function useDeployment(): string {
  const state = usePage().session.session.value;
  return (state.kind === "in" && state.deployment) || PRODUCT;
}

/** Draws the names of product and deployment: the pages of two deployments differ. Without a name, the host differs. */
function Identity({ deployment }: { deployment: string }) {
  return (
    <span class="identity" title={`The deployment ${deployment} at ${location.host}`}>
      <strong>{PRODUCT}</strong>{" "}
      <span class="quiet">{deployment === PRODUCT ? location.host : deployment}</span>
    </span>
  );
}

function ThemeChoice() {
  const { preferences } = usePage();
  const { theme } = preferences;
  const choose = (event: Event) => {
    const chosen =
      THEMES.find((each) => each === (event.currentTarget as HTMLSelectElement).value) ?? "system";
    theme.value = chosen;
    preferences.set("theme", chosen);
  };
  return (
    <select aria-label="Colours" value={theme.value} onChange={choose}>
      <option value="system">system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  );
}

function SignedIn() {
  const { session, notify } = usePage();
  const state = session.session.value;
  if (state.kind !== "in") return null;
  const { who, role, by, selector } = state.operator;
  const leave = async () => {
    const left = await session.signOut();
    if (!left.ok) notify(`Signing out failed: ${left.error.message}.`, "fault");
  };
  return (
    <span class="row who">
      <span class="who-name">{who}</span>
      {selector !== undefined && (
        <span
          class="tag"
          title="The page shows only machines with these labels, and not the whole deployment."
        >
          {selector}
        </span>
      )}
      {role !== "admin" && (
        <span
          class="tag"
          title={`The role ${role} cannot change anything; the page offers no action that the Worker would refuse.`}
        >
          read-only
        </span>
      )}
      {by === "session" && (
        <button type="button" onClick={() => void leave()}>
          Sign out
        </button>
      )}
    </span>
  );
}

function Messages() {
  const { messages, dismiss } = usePage();
  return (
    <div class="messages" role="log" aria-live="polite" aria-label="Messages">
      {messages.value.map(({ id, text, isFault }) => (
        <p key={id} class={isFault ? "message fault" : "message"}>
          {text}
          <button type="button" class="plain" aria-label="Close" onClick={() => dismiss(id)}>
            ✕
          </button>
        </p>
      ))}
    </div>
  );
}

/** The component of each view. Only the fleet's code is in the page's first load. */
const COMPONENTS: Readonly<Record<ViewName, ComponentType>> = {
  fleet: FleetView,
  day: lazyView(async () => (await import("../fleet/day.tsx")).DayView),
  approvals: lazyView(async () => (await import("../views/approvals.tsx")).ApprovalsView),
  tokens: lazyView(async () => (await import("../views/tokens.tsx")).TokensView),
  rollout: lazyView(async () => (await import("../views/rollout.tsx")).RolloutView),
  audit: lazyView(async () => (await import("../views/audit.tsx")).AuditView),
  notifications: lazyView(async () => (await import("../views/notifications.tsx")).NotificationsView),
  deployment: lazyView(async () => (await import("../views/deployment.tsx")).DeploymentView),
};
const MachineView = lazyView(
  async () => (await import("../machine/machine-view.tsx")).MachineView,
  MachineSketch,
);

/** Draws a machine as the feed has it, until the view's code is loaded. */
function MachineSketch({ name }: { name: string }) {
  const { live } = usePage();
  void live.revision.value;
  const machine = live.machines().get(name);
  return (
    <header class="machine machine-head">
      <h1>{name}</h1>
      {machine && (
        <p>
          <StateWord state={machine.state} /> <span class="quiet">since</span> <Time at={machine.sinceMs} />
        </p>
      )}
      {machine?.why && <p>{machine.why}</p>}
    </header>
  );
}

function View() {
  const { route, session } = usePage();
  const place = route.value;
  if (place.view === "machine") return <MachineView key={place.machine} name={place.machine} />;
  const why = refusalOf(session, place.view);
  if (why !== null) return <RefusedView title={VIEW_TITLES[place.view]} why={why} />;
  const Shown = COMPONENTS[place.view];
  return <Shown />;
}

/** The routes without which a view has no content. */
const ROUTES_OF_VIEWS: Partial<Readonly<Record<ViewName, OperatorRoute>>> = {
  tokens: "GET /v1/tokens",
  audit: "GET /v1/audit",
  notifications: "GET /v1/receivers",
  deployment: "GET /v1/settings",
};

/** Returns why the view is not for the operator, who has a selector; null if it is. */
function refusalOf(session: SessionStore, view: ViewName): string | null {
  const route = ROUTES_OF_VIEWS[view];
  return route === undefined ? null : session.refusal(route);
}

function RefusedView({ title, why }: { title: string; why: string }) {
  const { session } = usePage();
  return (
    <div class="stack">
      <h1>{title}</h1>
      <Notice kind="warning">
        <p>
          This view is not for operators of some machines (<code>{session.selector()}</code>): {why}.
        </p>
      </Notice>
    </div>
  );
}

const VIEW_TITLES: Readonly<Record<ViewName, string>> = {
  fleet: "Fleet",
  day: "Last day",
  approvals: "Approvals",
  tokens: "Tokens",
  rollout: "Rollout",
  audit: "Audit",
  notifications: "Notifications",
  deployment: "Deployment",
};

function Navigation() {
  const { route, live, session } = usePage();
  const nav = useRef<HTMLElement>(null);
  const { view: current } = route.value;
  const pending = live.pending.value.length;
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav ref={nav} aria-label="Views">
      {VIEWS.filter((view) => refusalOf(session, view) === null).map((view) => (
        <Link
          key={view}
          href={hrefOf({ view })}
          isCurrent={current === view || (current === "machine" && view === "fleet")}
        >
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

function ConnectionSign() {
  const { live } = usePage();
  const { kind } = live.connection.value;
  return (
    <span class={`connection connection-${kind}`} role="status">
      <span class="dot" aria-hidden="true" />
      {kind}
    </span>
  );
}

/** The labels of keys whose KeyboardEvent.key is not printed on them. */
const SIGNS: Readonly<Record<string, string>> = { ArrowLeft: "←", ArrowRight: "→", "-": "−", Escape: "Esc" };

function KeysHelp({ onClose }: { onClose: () => void }) {
  const { viewKeys } = usePage();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[
          ...viewKeys.value,
          { key: "?", does: "shows the keys" },
          { key: "Escape", does: "closes what is open" },
        ].map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{SIGNS[key] ?? key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Focuses the top of a newly opened view. A view reopened by going back has its scroll positions and focus. */
function useArrival(main: RefObject<HTMLElement | null>): void {
  const arrival = usePage().arrival.value;
  useLayoutEffect(() => {
    if (!arrival || !main.current) return undefined;
    const { isElsewhere, left } = arrival;
    if (isElsewhere) main.current.focus({ preventScroll: true });
    if (left) return scrollBack(main.current, left);
    if (isElsewhere) scrollTo(0, 0);
    return undefined;
  }, [arrival]);
}

/** The subject of the error message, like "This view", and the drawn part. */
type Drawn = { what: string; children: ComponentChildren };

/** Shows a message in place of a part that throws while it is drawn, where Preact would leave the page blank. */
export class DrawBoundary extends Component<Drawn, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static override getDerivedStateFromError(error: unknown) {
    return { fault: error instanceof Error ? error.message : "it has no message" };
  }

  override componentDidCatch(error: unknown): void {
    console.error("the page could not be drawn:", error);
  }

  override render() {
    const { what, children } = this.props;
    const { fault } = this.state;
    if (fault === null) return children;
    return (
      <Notice kind="fault">
        <p>
          <strong>{what} could not be drawn</strong>: {fault}.
        </p>
        <p>The fault is in the page, or the page is older than the Worker. The machines are not affected.</p>
        <div class="row">
          <button type="button" onClick={() => this.setState({ fault: null })}>
            Try again
          </button>
          <button type="button" onClick={() => location.reload()}>
            Reload the page
          </button>
        </div>
      </Notice>
    );
  }
}
