// Makes a component whose code is loaded when first shown, with an offer to reload the page if that fails.
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Notice } from "./notice.tsx";

/**
 * Returns the component. `sketch` draws what is known before the code arrives. `preload` loads the code early, so that
 * the view can also be opened while the Worker cannot be reached.
 */
export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  sketch: (props: Props) => ComponentChildren = () => null,
): ComponentType<Props> & { preload: () => void } {
  let loaded: ComponentType<Props> | undefined;
  const loadOnce = async () => {
    loaded ??= await load();
  };
  return Object.assign(LazyView, { preload: () => void loadOnce().catch(() => undefined) });
  function LazyView(props: Props) {
    const [, setRound] = useState(0);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      loadOnce().then(
        () => setRound((before) => before + 1),
        () => setFailed(true),
      );
    }, []);
    if (loaded) {
      const Loaded = loaded;
      return <Loaded {...props} />;
    }
    return (
      <>
        {sketch(props)}
        {hasFailed ? <NotLoaded /> : <p class="quiet pad">Loading …</p>}
      </>
    );
  }
}

const NotLoaded = () => (
  <Notice kind="fault">
    <p>This part of the page could not be loaded: the Worker cannot be reached, or it was deployed again.</p>
    <button type="button" onClick={() => location.reload()}>
      Reload the page
    </button>
  </Notice>
);
