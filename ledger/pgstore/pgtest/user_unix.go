//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// servant is who runs the server: PostgreSQL refuses to be run by root, so
// root lends it the user that its package made, or nobody.
func servant() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		return uid, gid, errors.Join(err1, err2)
	}
	return 0, 0, errors.New("there is no user postgres to run the server, and root cannot")
}

// own gives dir to the servant.
func own(dir string) error {
	uid, gid, err := servant()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func credential() *syscall.SysProcAttr {
	uid, gid, err := servant()
	// A group of its own: a Ctrl-C reaches the tests first, the server after
	// them.
	a := &syscall.SysProcAttr{Setpgid: true}
	if err == nil && os.Getuid() == 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}
