// SPDX-License-Identifier: MIT
pragma solidity 0.8.35;

/**
 * Moves what lies on a merchant's receiving addresses to the merchant, and to nobody else. It has no owner, no storage,
 * no list of tokens and no upgrade.
 *
 * A receiving address is CREATE2(this contract, keccak256(abi.encode(payee, salt)), the code of a forwarder). The payee
 * is part of the address, so that nobody has to be believed about whom an address pays.
 *
 * The build is frozen. Another build has another address, and what was sent to an address of this one can be collected
 * by this one only.
 */
contract Collector {
    /// Nothing could be moved: the addresses are empty, or every token refused.
    error NothingCollected();

    /// A call failed because the transaction had too little gas. Send it again with more.
    error GasTooLow();

    /// Tokens log their own transfers. The native coin leaves a contract without a log, so this contract writes one.
    event NativeCollected(address indexed from, address indexed payee, uint256 amount);

    /// keccak256 of the code that creates a forwarder. Who knows it computes addresses without asking a node.
    bytes32 public immutable forwarderHash = keccak256(_forwarderCode());

    /// The address that pays to `payee`, for each `salt` another one.
    function addressOf(address payee, bytes32 salt) public view returns (address) {
        return _forwarderAt(_ownSalt(payee, salt));
    }

    /**
     * Sends `payee` what its addresses have of `tokens`; the zero address means the native coin. Anybody may call it.
     * What cannot be moved stays where it is and stops nothing else. Returns how many transfers were accepted.
     *
     * A call that may have failed for lack of gas reverts everything. Else the gas estimation of a node, which looks
     * for the least gas with which a transaction succeeds, would find a limit at which some transfers fail unseen.
     */
    function collect(address payee, address[] calldata tokens, bytes32[] calldata salts)
        external
        returns (uint256 moved)
    {
        for (uint256 i = 0; i < salts.length; ++i) {
            bytes32 ownSalt = _ownSalt(payee, salts[i]);
            address from = _forwarderAt(ownSalt);
            bool exists = from.code.length != 0;
            for (uint256 j = 0; j < tokens.length; ++j) {
                address token = tokens[j];
                uint256 amount = token == address(0) ? from.balance : _balanceOf(token, from);
                if (amount == 0) continue;
                if (!exists) {
                    _create(ownSalt);
                    exists = true;
                }
                bytes memory order = token == address(0)
                    ? abi.encode(payee, amount)
                    : abi.encodePacked(abi.encode(token, 0), hex"a9059cbb", abi.encode(payee, amount));
                if (!_carryOut(from, order)) continue;
                ++moved;
                if (token == address(0)) emit NativeCollected(from, payee, amount);
            }
        }
        if (moved == 0) revert NothingCollected();
    }

    /// Hands a forwarder its order. It answers one byte when its call went through, and nothing when not.
    function _carryOut(address from, bytes memory order) private returns (bool isDone) {
        uint256 gasBefore = gasleft();
        assembly ("memory-safe") {
            pop(call(gas(), from, 0, add(order, 0x20), mload(order), 0, 0))
            isDone := eq(returndatasize(), 1)
        }
        if (!isDone) _requireGasLeft(gasBefore);
    }

    /**
     * What `owner` has of `token`; 0 for what is no token. It is a static call, so that nothing can change meanwhile,
     * and only 32 bytes of the answer are read, so that a long answer costs nothing here.
     */
    function _balanceOf(address token, address owner) private view returns (uint256 amount) {
        bytes memory question = abi.encodeWithSelector(0x70a08231, owner);
        uint256 gasBefore = gasleft();
        bool isAnswered;
        assembly ("memory-safe") {
            isAnswered := staticcall(gas(), token, add(question, 0x20), mload(question), 0, 0x20)
            if and(isAnswered, gt(returndatasize(), 0x1f)) { amount := mload(0) }
        }
        if (!isAnswered) _requireGasLeft(gasBefore);
    }

    /// Creates the forwarder. The address is free, so that only a lack of gas can prevent it.
    function _create(bytes32 ownSalt) private {
        bytes memory code = _forwarderCode();
        bool isCreated;
        assembly ("memory-safe") {
            isCreated := iszero(iszero(create2(0, add(code, 0x20), mload(code), ownSalt)))
        }
        if (!isCreated) revert GasTooLow();
    }

    /**
     * Tells a refusal from a lack of gas. Each level of calls keeps 1/64 of the gas, so that of a call which ran out of
     * it n levels deep 1 - (63/64)^n is left. A quarter is more than 18 levels leave; a token behind a proxy needs 3.
     */
    function _requireGasLeft(uint256 gasBefore) private view {
        if (gasleft() < gasBefore / 4) revert GasTooLow();
    }

    function _ownSalt(address payee, bytes32 salt) private pure returns (bytes32) {
        return keccak256(abi.encode(payee, salt));
    }

    function _forwarderAt(bytes32 ownSalt) private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), ownSalt, forwarderHash)))));
    }

    /**
     * 9 bytes that return the other 50. Those stop for every caller but this contract. For this contract they make the
     * call that it orders: word 0 is the receiver, word 1 the value, the rest the data.
     *
     *   00 CALLER PUSH20 this EQ PUSH1 1b JUMPI STOP
     *   1b JUMPDEST RETURNDATASIZE RETURNDATASIZE               size 0 and place 0 of the answer
     *      PUSH1 40 CALLDATASIZE SUB DUP1 PUSH1 40 RETURNDATASIZE CALLDATACOPY RETURNDATASIZE
     *                                                           the data, copied to place 0
     *      PUSH1 20 CALLDATALOAD RETURNDATASIZE CALLDATALOAD    value and receiver
     *      GAS CALL PUSH1 00 RETURN                             as many bytes as the call answered: 1 or 0
     *
     * They hold only opcodes that every EVM chain has since Constantinople.
     */
    function _forwarderCode() private view returns (bytes memory) {
        return abi.encodePacked(
            hex"60328060093d393df3",
            hex"3373",
            address(this),
            hex"14601b57005b",
            hex"3d3d604036038060403d373d6020353d355af16000f3"
        );
    }
}
