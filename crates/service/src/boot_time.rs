//! The clock by which deadlines are told on this machine: it is the same for every process, is
//! never set, and counts on while the machine sleeps.

/// Nanoseconds since the machine was started, by `CLOCK_BOOTTIME`; where there is no such clock, by
/// the one that is nearest to it.
pub fn now_ns() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_counts_what_the_machine_has_been_up() {
        let up = std::fs::read_to_string("/proc/uptime").expect("Linux tells");
        let seconds: f64 = up.split(' ').next().and_then(|it| it.parse().ok()).expect("a number");
        let now = now_ns() as f64 / 1e9;
        // Both count on between the two readings.
        assert!(now >= seconds - 0.1 && now < seconds + 600.0, "{now} {seconds}");
    }
}
