//! The host functions, with the statuses that Envoy gives. Whatever else the filter imports traps with its name.

use wasmi::{Caller, Error, Extern, ExternType, Linker, Memory, Module};

use crate::host::{Headers, HttpCall, RecordedReply, WasmHost};

type Guest<'a> = Caller<'a, WasmHost>;
type HostStatus = Result<i32, Error>;

const OK: i32 = 0;
const NOT_FOUND: i32 = 1;
const BAD_ARGUMENT: i32 = 2;
const CAS_MISMATCH: i32 = 8;

const REQUEST_HEADERS: i32 = 0;
const RESPONSE_HEADERS: i32 = 2;
const CALL_HEADERS: i32 = 6;
const REQUEST_BODY: i32 = 0;
const RESPONSE_BODY: i32 = 1;
const CALL_BODY: i32 = 4;
const PLUGIN_CONFIGURATION: i32 = 7;

/// Defines every import of the module.
pub fn define(linker: &mut Linker<WasmHost>, module: &Module) {
    define_env(linker).unwrap();
    define_wasi(linker).unwrap();
    for import in module.imports() {
        let ExternType::Func(signature) = import.ty() else {
            continue;
        };
        let name = format!("{}.{}", import.module(), import.name());
        // An error says that it is defined already.
        let _ = linker.func_new(
            import.module(),
            import.name(),
            signature.clone(),
            move |guest, _, _| {
                Err(fault(
                    &guest,
                    &format!("called {name}, which no scenario has"),
                ))
            },
        );
    }
}

fn define_env(linker: &mut Linker<WasmHost>) -> Result<(), wasmi::errors::LinkerError> {
    let env = "env";
    linker.func_wrap(env, "proxy_log", log)?;
    linker.func_wrap(env, "proxy_get_current_time_nanoseconds", now)?;
    linker.func_wrap(env, "proxy_set_tick_period_milliseconds", set_tick)?;
    linker.func_wrap(env, "proxy_get_buffer_bytes", get_buffer)?;
    linker.func_wrap(env, "proxy_set_buffer_bytes", set_buffer)?;
    linker.func_wrap(env, "proxy_get_header_map_pairs", get_headers)?;
    linker.func_wrap(env, "proxy_get_header_map_value", get_header)?;
    linker.func_wrap(env, "proxy_replace_header_map_value", set_header)?;
    linker.func_wrap(env, "proxy_remove_header_map_value", remove_header)?;
    linker.func_wrap(env, "proxy_get_property", get_property)?;
    linker.func_wrap(env, "proxy_set_property", set_property)?;
    linker.func_wrap(env, "proxy_get_shared_data", get_shared)?;
    linker.func_wrap(env, "proxy_set_shared_data", set_shared)?;
    linker.func_wrap(env, "proxy_send_local_response", send_reply)?;
    linker.func_wrap(env, "proxy_http_call", http_call)?;
    linker.func_wrap(env, "proxy_define_metric", define_metric)?;
    linker.func_wrap(env, "proxy_record_metric", record_metric)?;
    linker.func_wrap(env, "proxy_increment_metric", increment_metric)?;
    linker.func_wrap(
        env,
        "proxy_set_effective_context",
        |_: Guest<'_>, _: i32| OK,
    )?;
    Ok(())
}

fn define_wasi(linker: &mut Linker<WasmHost>) -> Result<(), wasmi::errors::LinkerError> {
    let wasi = "wasi_snapshot_preview1";
    linker.func_wrap(wasi, "random_get", random)?;
    linker.func_wrap(
        wasi,
        "clock_time_get",
        |mut guest: Guest<'_>, clock: i32, _: i64, at: i32| {
            guest.data_mut().note("clock", clock.to_string().as_bytes());
            let nanoseconds = {
                let shared = guest.data().process.lock();
                match clock {
                    0 => shared.now_ms * 1_000_000,
                    1 => shared.steady_ms * 1_000_000,
                    other => panic!("a clock that Envoy does not have: {other}"),
                }
            };
            store(&mut guest, at, &nanoseconds.to_le_bytes())
        },
    )?;
    linker.func_wrap(
        wasi,
        "environ_sizes_get",
        |mut guest: Guest<'_>, count: i32, size: i32| {
            store(&mut guest, count, &[0; 4])?;
            store(&mut guest, size, &[0; 4])
        },
    )?;
    linker.func_wrap(wasi, "environ_get", |_: Guest<'_>, _: i32, _: i32| OK)?;
    // Standard output and error: where a panic speaks.
    linker.func_wrap(
        wasi,
        "fd_write",
        |mut guest: Guest<'_>, _: i32, list: i32, count: i32, written: i32| -> HostStatus {
            let mut text = Vec::new();
            for i in 0..count {
                let pair = load(&guest, list + i * 8, 8)?;
                let (at, size) = pair.split_at(4);
                let number = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().unwrap());
                text.extend(load(&guest, number(at), number(size))?);
            }
            let size = i32::try_from(text.len()).unwrap();
            let line = String::from_utf8_lossy(&text).into_owned();
            guest.data_mut().logs.push((-1, line));
            store(&mut guest, written, &size.to_le_bytes())
        },
    )?;
    Ok(())
}

// ---- Logs, time, chance

fn log(mut guest: Guest<'_>, level: i32, at: i32, size: i32) -> HostStatus {
    guest.data_mut().note("log", b"");
    let text = load(&guest, at, size)?;
    let line = String::from_utf8_lossy(&text).into_owned();
    guest.data_mut().logs.push((level, line));
    Ok(OK)
}

fn now(mut guest: Guest<'_>, at: i32) -> HostStatus {
    guest.data_mut().note("get_current_time", b"");
    let nanoseconds = guest.data().process.lock().now_ms * 1_000_000;
    store(&mut guest, at, &nanoseconds.to_le_bytes())
}

fn set_tick(mut guest: Guest<'_>, period: i32) -> HostStatus {
    guest.data_mut().note("set_tick_period", b"");
    guest.data_mut().tick_ms = Some(u32::try_from(period).unwrap());
    Ok(OK)
}

fn random(mut guest: Guest<'_>, at: i32, size: i32) -> HostStatus {
    let mut bytes = Vec::new();
    while bytes.len() < usize::try_from(size).unwrap() {
        let mut shared = guest.data().process.lock();
        shared.entropy = crate::chaos::mix(shared.entropy);
        bytes.push(shared.entropy.to_le_bytes()[3]);
    }
    store(&mut guest, at, &bytes)
}

// ---- Buffers

fn get_buffer(
    mut guest: Guest<'_>,
    kind: i32,
    start: i32,
    max: i32,
    data: i32,
    size: i32,
) -> HostStatus {
    guest.data_mut().note("get_buffer", b"");
    let scope = &guest.data().scope;
    let buffer = match kind {
        REQUEST_BODY => scope.request_body.as_deref(),
        RESPONSE_BODY => scope.response_body.as_deref(),
        CALL_BODY => scope.call.as_ref().map(|call| call.body.as_slice()),
        PLUGIN_CONFIGURATION => scope.plugin_configuration.as_deref(),
        _ => None,
    };
    let Some(buffer) = buffer else {
        return Ok(NOT_FOUND);
    };
    let (start, max) = (
        usize::try_from(start).unwrap(),
        usize::try_from(max).unwrap(),
    );
    if start > buffer.len() {
        let length = buffer.len();
        return Err(fault(
            &guest,
            &format!("read a buffer of {length} bytes from {start}"),
        ));
    }
    let end = start.saturating_add(max).min(buffer.len());
    let bytes = buffer[start..end].to_vec();
    if kind == REQUEST_BODY {
        guest.data_mut().layout.read += bytes.len();
    }
    give(&mut guest, &bytes, data, size)
}

/// Envoy replaces from the start or appends at the end; it takes nothing in between.
fn set_buffer(
    mut guest: Guest<'_>,
    kind: i32,
    start: i32,
    length: i32,
    at: i32,
    size: i32,
) -> HostStatus {
    guest.data_mut().note("set_buffer", b"");
    let bytes = load(&guest, at, size)?;
    let (start, length) = (
        usize::try_from(start).unwrap(),
        usize::try_from(length).unwrap(),
    );
    let WasmHost { scope, layout, .. } = guest.data_mut();
    // What passes of an answer is never held: only from its start something else is put in its place.
    if let Some(buffer) = scope
        .response_body
        .as_mut()
        .filter(|_| kind == RESPONSE_BODY)
    {
        if start != 0 {
            return Ok(BAD_ARGUMENT);
        }
        buffer.splice(..length.min(buffer.len()), bytes);
        return Ok(OK);
    }
    let Some(buffer) = scope.request_body.as_mut().filter(|_| kind == REQUEST_BODY) else {
        return Ok(NOT_FOUND);
    };
    layout.written += bytes.len();
    if start == 0 {
        let length = length.min(buffer.len());
        layout.replace(length, bytes.len());
        buffer.splice(..length, bytes);
        Ok(OK)
    } else if start >= buffer.len() {
        layout.append(bytes.len());
        buffer.extend(bytes);
        Ok(OK)
    } else {
        Ok(BAD_ARGUMENT)
    }
}

// ---- Headers

fn map<'a>(guest: &'a mut Guest<'_>, kind: i32) -> Option<&'a mut Headers> {
    let scope = &mut guest.data_mut().scope;
    match kind {
        REQUEST_HEADERS => scope.request_headers.as_mut(),
        RESPONSE_HEADERS => scope.response_headers.as_mut(),
        CALL_HEADERS => scope
            .call
            .as_mut()
            .map(|call| &mut call.headers)
            .filter(|headers| !headers.is_empty()),
        _ => None,
    }
}

fn get_headers(mut guest: Guest<'_>, kind: i32, data: i32, size: i32) -> HostStatus {
    guest.data_mut().note("get_headers", b"");
    let Some(headers) = map(&mut guest, kind) else {
        return Ok(BAD_ARGUMENT);
    };
    let bytes = encode_headers(headers);
    give(&mut guest, &bytes, data, size)
}

fn get_header(
    mut guest: Guest<'_>,
    kind: i32,
    name: i32,
    name_size: i32,
    data: i32,
    size: i32,
) -> HostStatus {
    let name = load(&guest, name, name_size)?;
    guest.data_mut().note("get_header", &name);
    let Some(headers) = map(&mut guest, kind) else {
        return Ok(BAD_ARGUMENT);
    };
    match headers.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => {
            let value = value.clone();
            give(&mut guest, &value, data, size)
        }
        None => Ok(NOT_FOUND),
    }
}

fn set_header(
    mut guest: Guest<'_>,
    kind: i32,
    name: i32,
    name_size: i32,
    value: i32,
    value_size: i32,
) -> HostStatus {
    let name = load(&guest, name, name_size)?;
    let value = load(&guest, value, value_size)?;
    guest.data_mut().note("set_header", &name);
    let Some(headers) = map(&mut guest, kind) else {
        return Ok(BAD_ARGUMENT);
    };
    headers.retain(|(known, _)| *known != name);
    headers.push((name, value));
    Ok(OK)
}

fn remove_header(mut guest: Guest<'_>, kind: i32, name: i32, name_size: i32) -> HostStatus {
    let name = load(&guest, name, name_size)?;
    guest.data_mut().note("remove_header", &name);
    let Some(headers) = map(&mut guest, kind) else {
        return Ok(BAD_ARGUMENT);
    };
    headers.retain(|(known, _)| *known != name);
    Ok(OK)
}

fn encode_headers(headers: &Headers) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let mut bytes = number(headers.len()).to_vec();
    for (name, value) in headers {
        bytes.extend(number(name.len()));
        bytes.extend(number(value.len()));
    }
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(text);
        bytes.push(0);
    }
    bytes
}

fn decode_headers(bytes: &[u8]) -> Headers {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 4 + number(0) * 8;
    let mut text = |size: usize| {
        let text = bytes[at..at + size].to_vec();
        at += size + 1;
        text
    };
    (0..number(0))
        .map(|i| (text(number(4 + i * 8)), text(number(8 + i * 8))))
        .collect()
}

// ---- Properties, shared data, stats

fn get_property(mut guest: Guest<'_>, at: i32, path_size: i32, data: i32, size: i32) -> HostStatus {
    let path = load(&guest, at, path_size)?;
    guest.data_mut().note("get_property", &path);
    let value = match path.as_slice() {
        b"plugin_root_id" => Some(guest.data().root_id.as_bytes().to_vec()),
        b"source\0address" => Some(b"192.0.2.7:4711".to_vec()),
        b"response\0code_details" => guest.data().scope.code_details.clone(),
        _ => {
            let path = String::from_utf8_lossy(&path).replace('\0', ".");
            return Err(fault(&guest, &format!("asked for the property {path}")));
        }
    };
    match value {
        Some(value) => give(&mut guest, &value, data, size),
        None => Ok(NOT_FOUND),
    }
}

/// The one property that is set is the record, and only when the stream is over.
fn set_property(
    mut guest: Guest<'_>,
    at: i32,
    path_size: i32,
    value: i32,
    value_size: i32,
) -> HostStatus {
    let path = load(&guest, at, path_size)?;
    let value = load(&guest, value, value_size)?;
    guest.data_mut().note("set_property", &path);
    if path != b"ledger" || guest.data().scope.callback != "proxy_on_log" {
        return Err(fault(&guest, "set a property that it may not set"));
    }
    guest.data_mut().records.push(value);
    Ok(OK)
}

fn get_shared(
    mut guest: Guest<'_>,
    name: i32,
    name_size: i32,
    data: i32,
    size: i32,
    cas: i32,
) -> HostStatus {
    let name = text(&guest, name, name_size)?;
    guest.data_mut().note("get_shared", name.as_bytes());
    let found = guest.data().process.lock().data.get(&name).cloned();
    let Some((value, version)) = found else {
        return Ok(NOT_FOUND);
    };
    store(&mut guest, cas, &version.to_le_bytes())?;
    give(&mut guest, &value, data, size)
}

fn set_shared(
    mut guest: Guest<'_>,
    name: i32,
    name_size: i32,
    value: i32,
    value_size: i32,
    cas: i32,
) -> HostStatus {
    let name = text(&guest, name, name_size)?;
    let value = load(&guest, value, value_size)?;
    guest.data_mut().note("set_shared", name.as_bytes());
    let done = guest
        .data()
        .process
        .lock()
        .set(&name, &value, cas.cast_unsigned());
    Ok(if done { OK } else { CAS_MISMATCH })
}

fn define_metric(
    mut guest: Guest<'_>,
    _kind: i32,
    name: i32,
    name_size: i32,
    id: i32,
) -> HostStatus {
    guest.data_mut().note("define_metric", b"");
    let name = text(&guest, name, name_size)?;
    let index = {
        let metrics = &mut guest.data().process.lock().metrics;
        metrics
            .iter()
            .position(|(known, _)| *known == name)
            .unwrap_or_else(|| {
                metrics.push((name, 0));
                metrics.len() - 1
            })
    };
    store(&mut guest, id, &u32::try_from(index).unwrap().to_le_bytes())
}

fn record_metric(mut guest: Guest<'_>, id: i32, value: i64) -> HostStatus {
    guest.data_mut().note("record_metric", b"");
    let metrics = &mut guest.data().process.lock().metrics;
    metrics[usize::try_from(id).unwrap()].1 = value.cast_unsigned();
    Ok(OK)
}

fn increment_metric(mut guest: Guest<'_>, id: i32, by: i64) -> HostStatus {
    guest.data_mut().note("increment_metric", b"");
    let metrics = &mut guest.data().process.lock().metrics;
    metrics[usize::try_from(id).unwrap()].1 += by.cast_unsigned();
    Ok(OK)
}

// ---- Answers and calls

#[allow(clippy::too_many_arguments, reason = "the ABI has them")]
fn send_reply(
    mut guest: Guest<'_>,
    status: i32,
    _details: i32,
    _details_size: i32,
    body: i32,
    body_size: i32,
    headers: i32,
    headers_size: i32,
    _grpc: i32,
) -> HostStatus {
    guest.data_mut().note("send_reply", b"");
    let reply = RecordedReply {
        status: u32::try_from(status).unwrap(),
        headers: decode_headers(&load(&guest, headers, headers_size)?),
        body: load(&guest, body, body_size)?,
    };
    let in_stream = ["headers", "body", "trailers"]
        .iter()
        .any(|part| guest.data().scope.callback.ends_with(part));
    if !in_stream || guest.data().scope.reply.is_some() {
        return Err(fault(&guest, "sent a reply that it may not send"));
    }
    guest.data_mut().scope.reply = Some(reply);
    Ok(OK)
}

#[allow(clippy::too_many_arguments, reason = "the ABI has them")]
fn http_call(
    mut guest: Guest<'_>,
    cluster: i32,
    cluster_size: i32,
    headers: i32,
    headers_size: i32,
    _body: i32,
    _body_size: i32,
    _trailers: i32,
    _trailers_size: i32,
    timeout: i32,
    token: i32,
) -> HostStatus {
    guest.data_mut().note("http_call", b"");
    let cluster = text(&guest, cluster, cluster_size)?;
    let headers = decode_headers(&load(&guest, headers, headers_size)?);
    if !guest.data().cluster_known {
        return Ok(BAD_ARGUMENT);
    }
    let given = {
        let mut shared = guest.data().process.lock();
        shared.last_token += 1;
        shared.last_token
    };
    let call = HttpCall {
        token: given,
        cluster,
        headers,
        timeout_ms: u32::try_from(timeout).unwrap(),
    };
    guest.data_mut().calls.push_back(call);
    store(&mut guest, token, &given.to_le_bytes())
}

// ---- The guest's memory

fn fault(guest: &Guest<'_>, what: &str) -> Error {
    Error::new(format!(
        "in {} the filter {what}",
        guest.data().scope.callback
    ))
}

fn memory(guest: &Guest<'_>) -> Memory {
    guest
        .get_export("memory")
        .and_then(Extern::into_memory)
        .unwrap()
}

fn load(guest: &Guest<'_>, at: i32, size: i32) -> Result<Vec<u8>, Error> {
    let (at, size) = (at.cast_unsigned() as usize, size.cast_unsigned() as usize);
    let all = memory(guest).data(guest);
    all.get(at..at.saturating_add(size))
        .map(<[u8]>::to_vec)
        .ok_or_else(|| fault(guest, "named memory that it does not have"))
}

fn text(guest: &Guest<'_>, at: i32, size: i32) -> Result<String, Error> {
    String::from_utf8(load(guest, at, size)?)
        .map_err(|_| fault(guest, "gave a name that is not UTF-8"))
}

fn store(guest: &mut Guest<'_>, at: i32, bytes: &[u8]) -> HostStatus {
    let memory = memory(guest);
    let done = memory.write(&mut *guest, at.cast_unsigned() as usize, bytes);
    done.map(|()| OK)
        .map_err(|_| fault(guest, "named memory that it does not have"))
}

/// Hands bytes over in memory that the guest allocates; nothing at all for no bytes, as Envoy does.
fn give(guest: &mut Guest<'_>, bytes: &[u8], data: i32, size: i32) -> HostStatus {
    let mut at = 0_i32;
    if !bytes.is_empty() {
        let allocate = guest
            .get_export("proxy_on_memory_allocate")
            .and_then(Extern::into_func)
            .unwrap();
        let allocate = allocate.typed::<i32, i32>(&*guest).unwrap();
        at = allocate.call(&mut *guest, i32::try_from(bytes.len()).unwrap())?;
        store(guest, at, bytes)?;
    }
    store(guest, data, &at.to_le_bytes())?;
    store(
        guest,
        size,
        &u32::try_from(bytes.len()).unwrap().to_le_bytes(),
    )
}
