// The page's frame: navigation, how it is with the feed, what was said, and the view that the URL names.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { pressed } from "../base/keys.ts";
import { THEMES } from "../base/preferences.ts";
import { KeysHelp } from "./keys-help.tsx";
import { ConnectionBanner, ConnectionSign } from "./connection.tsx";
import { usePage } from "../page.ts";
import { DrawBoundary } from "./draw-boundary.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Navigation, VIEW_TITLES } from "./navigation.tsx";
import { SignIn } from "./sign-in.tsx";
import { useLinkCode } from "./link-code.ts";
import { useArrival } from "./use-arrival.ts";
import { View } from "./view.tsx";

export function App() {
  const page = usePage();
  const { session, preferences } = page;
  useEffect(() => void session.ask(), []);
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
    // Who is in needs none, and after a sign-out none is left that would sign in again.
    if (isIn.value && code.value !== null) code.value = null;
  });
  const state = session.session.value;
  if (state.kind === "asking") return <main class="quiet pad">Connecting …</main>;
  if (state.kind === "unknown")
    return (
      <main>
        <FaultNotice
          what="The Worker could not be asked"
          fault={state.fault}
          again={() => void session.ask()}
        />
      </main>
    );
  if (state.kind === "out") return <SignIn ways={state.ways} code={code} />;
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
  const current = route.value;
  const title = current.view === "machine" ? current.machine : VIEW_TITLES[current.view];
  useEffect(() => {
    document.title = `${title} · rollcall`;
  }, [title]);
  return (
    <div class="frame" data-connection={connection.value.kind}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Navigation />
        <div class="row">
          <ConnectionSign />
          <ThemeChoice />
          <button
            type="button"
            class="plain keys-button"
            aria-label="Keys"
            onClick={() => (isHelpOpen.value = true)}
          >
            ?
          </button>
          <SignedIn />
        </div>
      </header>
      <ConnectionBanner />
      <main ref={main} id="main" tabIndex={-1} aria-label={title}>
        <DrawBoundary key={title} what="This view">
          <View />
        </DrawBoundary>
      </main>
      <Sayings />
      {isHelpOpen.value && <KeysHelp onClose={() => (isHelpOpen.value = false)} />}
    </div>
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
  const { session, say } = usePage();
  const state = session.session.value;
  if (state.kind !== "in") return null;
  const { who, role, by } = state.operator;
  const leave = async () => {
    const left = await session.signOut();
    if (!left.ok) say(`Signing out failed: ${left.error.message}.`, "fault");
  };
  return (
    <span class="row who">
      <span class="who-name">{who}</span>
      {role !== "admin" && (
        <span
          class="tag"
          title="Whoever has the role view changes nothing: what would be refused is not offered."
        >
          may only look
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

function Sayings() {
  const { sayings, unsay } = usePage();
  return (
    <div class="sayings" role="log" aria-live="polite" aria-label="What happened">
      {sayings.value.map(({ id, text, isFault }) => (
        <p key={id} class={isFault ? "saying fault" : "saying"}>
          {text}
          <button type="button" class="plain" aria-label="Put away" onClick={() => unsay(id)}>
            ✕
          </button>
        </p>
      ))}
    </div>
  );
}
