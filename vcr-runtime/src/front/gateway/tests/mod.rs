//! The gateway through real sockets, with a scripted upstream and a fake session.
