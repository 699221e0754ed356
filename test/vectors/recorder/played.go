// Runs code that waits, in simulated time: registration, the recorder of events, the checks of a Node's addresses.
package main

import (
	"context"
	"net"
	"runtime"
	_ "testing/synctest"
	"time"
	_ "unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet"
)

//go:linkname registerNode k8s.io/kubernetes/pkg/kubelet.(*Kubelet).registerWithAPIServer
func registerNode(kl *kubelet.Kubelet, ctx context.Context)

//go:linkname validateNodeIP k8s.io/kubernetes/pkg/kubelet.validateNodeIP
func validateNodeIP(nodeIP net.IP) error

// runBubble runs a function in simulated time, as testing/synctest does in tests.
//
//go:linkname runBubble internal/synctest.Run
func runBubble(f func())

// waitBubble waits until all other goroutines of the bubble wait.
//
//go:linkname waitBubble internal/synctest.Wait
func waitBubble()

func init() {
	families["register"] = inBubble(register)
	families["events"] = inBubble(recordedEvents)
	families["validateNodeIP"] = nodeIPs
}

// inBubble returns a family that runs in simulated time: a wait takes no time, and moves the clock by its length.
func inBubble(run family) family {
	return func(given object) (want any) {
		var thrown any
		runBubble(func() {
			defer func() { thrown = recover() }()
			want = run(given)
		})
		if thrown != nil {
			panic(thrown)
		}
		return want
	}
}

func register(given object) any {
	api := newServer()
	if given["existingNode"] != nil {
		api.put("nodes", "Node", "v1", given["existingNode"])
	}
	api.outcomes = given["outcomes"].([]any)
	tracker := newTracker()
	kl := registeringKubelet(given, api, tracker)
	registerNode(kl, context.Background())
	calls := api.takeCalls()
	attempts := 0
	for _, call := range calls {
		if call.(object)["request"].(object)["verb"] == "create" {
			attempts++
		}
	}
	return object{"attempts": attempts, "sleepsMs": api.takeSleeps(), "tracker": tracker.calls, "calls": calls}
}

// registeringKubelet returns a kubelet with all that a registration uses, but without setters.
func registeringKubelet(given object, api *server, tracker *tracker) *kubelet.Kubelet {
	kl := &kubelet.Kubelet{}
	set(kl, "nodeName", types.NodeName(given["nodeName"].(string)))
	set(kl, "hostname", given["hostname"].(string))
	set(kl, "nodeLabels", as[map[string]string](given["nodeLabels"]))
	set(kl, "kubeClient", api.client())
	set(kl, "containerManager", managerThatResets(false))
	set(kl, "nodeStartupLatencyTracker", tracker)
	return kl
}

func recordedEvents(given object) any {
	time.Sleep(time.Until(instant(given["start"])))
	api := newServer()
	api.brief = true
	ctx, cancel := context.WithCancel(context.Background())
	broadcaster := record.NewBroadcaster(record.WithSleepDuration(0), record.WithContext(ctx))
	defer func() {
		broadcaster.Shutdown()
		cancel()
	}()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: api.client().CoreV1().Events("")})
	about := as[*v1.ObjectReference](given["involvedObject"])
	events := broadcaster.NewRecorder(scheme.Scheme, as[v1.EventSource](given["source"]))
	steps := []any{}
	for _, each := range given["steps"].([]any) {
		step := each.(object)
		time.Sleep(milliseconds(step["advanceMs"]))
		if truth(step["delete"]) {
			clear(api.objects)
		}
		api.outcomes = step["outcomes"].([]any)
		events.Event(about, text(step["type"]), text(step["reason"]), text(step["message"]))
		waitBubble()
		steps = append(steps, object{"calls": api.takeCalls()})
	}
	return object{"steps": steps}
}

// nodeIPs runs in a network of its own, whose interface has the addresses of the case.
func nodeIPs(given object) any {
	if text(given["interfaceAddrsError"]) != "" {
		notRun()
	}
	answer := make(chan any)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine, and its network with the thread.
		if !addressesAre(as[[]string](given["interfaceAddrs"])) {
			answer <- errNotRun
			return
		}
		answer <- object{"error": errorText(validateNodeIP(address(given["nodeIP"])))}
	}()
	outcome := <-answer
	if outcome == errNotRun {
		notRun()
	}
	return outcome
}

func addressesAre(wanted []string) bool {
	if unix.Unshare(unix.CLONE_NEWNET) != nil {
		return false
	}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return false
	}
	for _, each := range wanted {
		parsed, err := netlink.ParseAddr(each)
		if err != nil || netlink.AddrAdd(loopback, parsed) != nil {
			return false
		}
	}
	return true
}
