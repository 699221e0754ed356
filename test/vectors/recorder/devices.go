//go:build !kubernetes_1_36

// Runs the kubelet's device manager with simulated plugins. Kubernetes 1.36 serves one plugin of each resource alone.
package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
	_ "unsafe"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	plugins "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(
	logger klog.Logger, socketPath string, topology []cadvisorapi.Node, affinity topologymanager.Store,
) (*devicemanager.ManagerImpl, error)

//go:linkname readCheckpoint k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.(*ManagerImpl).readCheckpoint
func readCheckpoint(manager *devicemanager.ManagerImpl, logger klog.Logger) error

func init() { families["devices"] = inBubble(devices) }

// devicePlugin is a connected plugin.
type devicePlugin struct {
	plugins.DevicePluginClient
	resource, socket string
}

func (p devicePlugin) API() plugins.DevicePluginClient { return p }
func (p devicePlugin) Resource() string                { return p.resource }
func (p devicePlugin) SocketPath() string              { return p.socket }
func (p devicePlugin) GetDevicePluginOptions(
	context.Context, *plugins.Empty, ...grpc.CallOption,
) (*plugins.DevicePluginOptions, error) {
	return &plugins.DevicePluginOptions{}, nil
}

func devices(given object) any {
	logger := klog.Background()
	folder := must(os.MkdirTemp("", "devices"))
	defer os.RemoveAll(folder)
	start := func() *devicemanager.ManagerImpl {
		return must(newDeviceManager(logger, filepath.Join(folder, "kubelet.sock"), nil, nil))
	}
	manager := start()
	outcomes := []any{}
	for _, each := range given["steps"].([]any) {
		step := each.(object)
		resource, socket := text(step["resource"]), text(step["socket"])
		switch step["op"] {
		case "connect":
			check(manager.PluginConnected(context.Background(), resource, devicePlugin{resource: resource, socket: socket}))
		case "list":
			answer := &plugins.ListAndWatchResponse{}
			for _, device := range as[[][2]string](step["devices"]) {
				answer.Devices = append(answer.Devices, &plugins.Device{ID: device[0], Health: device[1]})
			}
			manager.PluginListAndWatchReceiver(logger, resource, answer)
		case "disconnect":
			manager.PluginDisconnected(logger, resource, socket)
		case "pass":
			time.Sleep(milliseconds(step["ms"]))
		case "restart":
			manager = start()
			check(readCheckpoint(manager, logger))
		}
		capacity, allocatable, deleted := manager.GetCapacity(logger)
		slices.Sort(deleted)
		outcomes = append(outcomes, object{
			"capacity": amounts(capacity), "allocatable": amounts(allocatable), "deleted": listed(deleted),
		})
	}
	return outcomes
}

func amounts(of v1.ResourceList) map[string]int64 {
	all := map[string]int64{}
	for name, quantity := range of {
		all[string(name)] = quantity.Value()
	}
	return all
}
