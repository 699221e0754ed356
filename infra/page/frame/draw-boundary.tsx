// What stands in place of a part of the page that throws while it is drawn: without it the page would be blank. Mends nothing.
import { Component, type ComponentChildren } from "preact";
import { Notice } from "../parts/notice.tsx";

interface DrawBoundaryProps {
  /** What could not be drawn: "This view". */
  what: string;
  children: ComponentChildren;
}

interface DrawBoundaryState {
  /** What was thrown; null: all is drawn. */
  fault: string | null;
}

/** A class, because nothing else in Preact's core catches what is thrown below it. */
export class DrawBoundary extends Component<DrawBoundaryProps, DrawBoundaryState> {
  override state: DrawBoundaryState = { fault: null };

  static override getDerivedStateFromError(error: unknown): DrawBoundaryState {
    return { fault: error instanceof Error ? error.message : "it says no more" };
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
        <p>What is wrong is the page, or it is older than the Worker. The machines are not concerned.</p>
        <div class="row">
          <button type="button" onClick={() => this.setState({ fault: null })}>
            Try again
          </button>
          <button type="button" onClick={() => location.reload()}>
            Load the page anew
          </button>
        </div>
      </Notice>
    );
  }
}
