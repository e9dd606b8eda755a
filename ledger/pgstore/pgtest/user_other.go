//go:build !unix

package pgtest

import "syscall"

func own(string) error { return nil }

func credential() *syscall.SysProcAttr { return nil }
