//! One PostgreSQL server for all tests of a run, in whatever processes they are.
//!
//! It listens on a Unix socket in a directory of its own. Each process that uses it holds a shared lock there; the shell that
//! started the server stops it, and removes its data, when nobody has held the lock for a while.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

/// The user "nobody": PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;
/// The directory of programs, the directory of the server.
const WATCH: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
  -c max_connections=300 -c shared_buffers=64MB -c deadlock_timeout=100ms >"$2/log" 2>&1 &
server=$!
while kill -0 $server 2>/dev/null; do
  sleep 3
  flock --nonblock "$2/used" sh -c '
    kill -INT $0
    while kill -0 $0 2>/dev/null; do sleep 0.1; done
    rm -rf "$1/data"' $server "$2"
done
"#;

static SERVER: OnceLock<PostgresServer> = OnceLock::new();
static NUMBER: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
struct PostgresServer {
    directory: PathBuf,
    /// Held as long as this process lives.
    _used: File,
}

impl PostgresServer {
    fn url(&self, database: &str) -> String {
        format!(
            "postgres://trilane@localhost/{database}?host={}",
            self.directory.display()
        )
    }

    fn start() -> Self {
        let programs = programs();
        let root = rustix::process::getuid().is_root();
        let place = env!("CARGO_TARGET_TMPDIR")
            .bytes()
            .fold(5381_u32, |hash, byte| {
                hash.wrapping_mul(33) ^ u32::from(byte)
            });
        // Short, for a socket's path has 107 bytes at most.
        let directory = std::env::temp_dir().join(format!("trilane-postgres-{place:08x}"));
        fs::create_dir_all(&directory).unwrap();
        if root {
            chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let lock = |name| {
            let file = File::options()
                .create(true)
                .append(true)
                .open(directory.join(name))
                .unwrap();
            file.set_permissions(fs::Permissions::from_mode(0o666))
                .unwrap();
            file
        };
        let used = lock("used");
        used.lock_shared().unwrap();
        let starting = lock("starting");
        starting.lock().unwrap();
        let listens = || UnixStream::connect(directory.join(".s.PGSQL.5432")).is_ok();
        if !listens() {
            let as_nobody = |command: &mut Command| {
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .current_dir(&directory);
                if root {
                    command.uid(NOBODY).gid(NOBODY);
                }
            };
            let _ = fs::remove_dir_all(directory.join("data"));
            let mut initdb = Command::new(programs.join("initdb"));
            initdb.arg("-D").arg(directory.join("data")).args([
                "--username=trilane",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ]);
            as_nobody(&mut initdb);
            assert!(initdb.status().unwrap().success(), "{initdb:?}");
            let mut watch = Command::new("sh");
            watch
                .args(["-c", WATCH, "sh"])
                .arg(&programs)
                .arg(&directory);
            as_nobody(&mut watch);
            watch
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap();
            let since = Instant::now();
            while !listens() {
                assert!(
                    since.elapsed() < Duration::from_secs(30),
                    "PostgreSQL does not listen: see {}/log",
                    directory.display()
                );
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        std::mem::drop(starting);
        Self {
            directory,
            _used: used,
        }
    }
}

/// The directory of PostgreSQL's programs.
fn programs() -> PathBuf {
    let has = |directory: &Path| {
        ["postgres", "initdb"]
            .iter()
            .all(|name| directory.join(name).is_file())
    };
    let mut places: Vec<PathBuf> = std::env::var_os("TRILANE_POSTGRES")
        .into_iter()
        .map(PathBuf::from)
        .collect();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    places.push(target.join("postgres/bin"));
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<_> = versions
            .map(|entry| entry.unwrap().path().join("bin"))
            .collect();
        versions.sort();
        places.extend(versions.into_iter().rev());
    }
    places.extend(
        std::env::var_os("PATH")
            .iter()
            .flat_map(std::env::split_paths),
    );
    let found = places.into_iter().find(|place| has(place));
    found.expect("there are no programs of PostgreSQL: `make postgres` fetches them")
}

async fn connect() -> PgConnection {
    let server = SERVER.get_or_init(PostgresServer::start);
    let since = Instant::now();
    loop {
        match PgConnection::connect(&server.url("postgres")).await {
            Ok(connection) => return connection,
            // It may be about to start.
            Err(error) => assert!(since.elapsed() < Duration::from_secs(30), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A new database: its name and URL.
pub async fn create() -> (String, String) {
    let mut connection = connect().await;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{number}", std::process::id());
    let sql = format!("DROP DATABASE IF EXISTS {name}");
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    let sql = format!("CREATE DATABASE {name}");
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
    let url = SERVER.get().unwrap().url(&name);
    (name, url)
}

/// Removes a database.
pub async fn drop(name: &str) {
    let mut connection = connect().await;
    let sql = format!("DROP DATABASE {name} WITH (FORCE)");
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}
