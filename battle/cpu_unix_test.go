//go:build linux || darwin

package battle

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used up to now, all its threads together.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
